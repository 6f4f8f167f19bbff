"""The phases of the analysis: each one derives one part of a format from renderings.

A phase compares conversations with a single difference. It has a label, taken from llama.cpp's
differential analysis. The same label means the same comparison in both projects. A `Trace` records
each rendering under the label of its phase. The phases of calls share their renderings, recorded
together under "T1-T7, A1, A2". The label "T1" alone marks the search for messages with calls.

    label  comparison                                result                        module
    -----  ----------------------------------------  ----------------------------  ----------------
    frame  conversations with and without an answer  header, end, prompt           frame
    S      prompts and turns under each switch       relevant switches             switches
    R1     a turn with and without reasoning         reasoning markers             reasoning
    R2     prompts under each switch                 reasoning opened by prompts   reasoning_prompts
    R3     reasoning before content, before calls    reasoning before calls only   reasoning
    C1     content alone, and with reasoning         content markers               content
    T1     position of the function name             JSON or not, and its layout   json_calls
    T2     one call, and two                         section or call markers       call_texts
    T3     one call, and two                         separator of calls            call_texts
    T4     texts on both sides of a name             function markers              tagged
    T5     one argument, and two                     separator of arguments        tagged_arguments
    T6     one argument, and zero                    markers around all arguments  tagged_arguments
    T7     position of the call id                   id markers                    tagged
    A1     text between a key and its value          end of the key                tagged_arguments
    A2     values of several types                   markers around each value     tagged_arguments
    proof  rendered turns, and their parses          correctness of the format     ..proof

`channels` renders no conversations, but converts the markers of other phases. `pythonic` covers T1
to A2 at once, because the syntax of Python determines the layout. For the order of the phases and
its reasons see `analysis`.
"""
