"""The phases of the analysis: each reads one part of a format off renderings.

A phase compares conversations that differ in one thing. It has a label; the labels are those of
llama.cpp's analysis by differences, which compares the same things, so that the two can be read
side by side. A `Trace` notes what is rendered under the label of the phase. The phases of calls
share their renderings, which it notes together under "T1-T7, A1, A2"; under "T1" alone it notes the
search for messages in which the template shows calls.

    label  what is compared                          what it shows                 module
    -----  ----------------------------------------  ----------------------------  ----------------
    frame  conversations with an answer and without  header, end, prompt           frame
    S      prompts and turns under each switch       which switches matter         switches
    R1     a turn with reasoning, and without        the markers of reasoning      reasoning
    R2     prompts under each switch                 whether they open reasoning   reasoning_prompts
    R3     reasoning beside content, beside calls    reasoning before calls only   reasoning
    C1     content alone, and with reasoning         the markers of content        content
    T1     where the name of a function stands       JSON or not, and its layout   json_calls
    T2     one call, and two                         markers of all, or of each    call_texts
    T3     one call, and two                         what stands between calls     call_texts
    T4     the texts on either side of a name        the markers of the function   tagged
    T5     one argument, and two                     what is between arguments     tagged_arguments
    T6     one argument, and none                    what stands round all of them  tagged_arguments
    T7     where the id of a call stands             the markers of the id         tagged
    A1     the text between a key and its value      where the key ends            tagged_arguments
    A2     values of several types                   what stands round each value  tagged_arguments
    proof  turns rendered, and what they parse to    whether all of it is right    ..proof

`channels` renders nothing: it reads the markers that were found another way. `pythonic` is T1 to A2
in one, for Python says what stands where. In which order they run, and why: see `analysis`.
"""
