// llama.cpp's own conversion of JSON Schema, for bench/grammars.py to compare with: reads schemas,
// one a line, and writes for each "grammar" or "error" with a number of lines, and then these.
//
// From the source distribution of llama-cpp-python (pip download --no-deps --no-binary
// llama-cpp-python), in vendor/llama.cpp:
//
//   g++ -std=c++17 -O1 -Icommon -Ivendor -Iinclude -Iggml/include llama_schema.cpp common/json-schema-to-grammar.cpp
//       common/json-schema.cpp common/json.cpp common/trie.cpp common/unicode.cpp -o llama-schema

#include "common.h"
#include "json-schema-to-grammar.h"
#include "json.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

// What these files need of common.cpp, which needs all of the library.
std::string string_repeat(const std::string & text, size_t count) {
    std::string out;
    while (count--) { out += text; }
    return out;
}

std::string string_join(const std::vector<std::string> & texts, const std::string & separator) {
    std::string out;
    for (size_t i = 0; i < texts.size(); ++i) { out += (i ? separator : "") + texts[i]; }
    return out;
}

std::vector<std::string> string_split(const std::string & text, const std::string & separator) {
    std::vector<std::string> out;
    size_t start = 0;
    for (size_t at; (at = text.find(separator, start)) != std::string::npos; start = at + separator.size()) {
        out.push_back(text.substr(start, at - start));
    }
    out.push_back(text.substr(start));
    return out;
}

extern "C" void ggml_abort(const char *, int, const char *, ...) { std::abort(); }

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::string kind = "grammar", text;
        try {
            text = json_schema_to_grammar(common_json::parse(line), true);
        } catch (const std::exception & error) {
            kind = "error";
            text = error.what();
        }
        const auto count = std::count(text.begin(), text.end(), '\n') + 1;
        std::cout << kind << " " << count << "\n" << text << std::endl;
    }
}
