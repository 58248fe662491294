// Code for several instruction sets in one library, chosen when it runs.
//
// A function template whose body is one always-inlined call is given a target attribute per
// instruction set. That needs neither ifunc (musl has none) nor -march=native.
#pragma once

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define WM_X86 1
#define WM_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define WM_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma")))
#else
#define WM_X86 0
#endif

namespace widemargin {

enum class InstructionSet { baseline, avx2, avx512 };

// What this machine has.
inline InstructionSet supported_instruction_set() {
#if WM_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return InstructionSet::baseline;
    const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return wide ? InstructionSet::avx512 : InstructionSet::avx2;
#else
    return InstructionSet::baseline;
#endif
}

// What is used: all of it, unless WIDEMARGIN_INSTRUCTION_SET asks for less (to test the other
// versions, or to have the same last digits on two kinds of machine).
inline InstructionSet chosen_instruction_set() {
    const InstructionSet supported = supported_instruction_set();
    const char* asked = std::getenv("WIDEMARGIN_INSTRUCTION_SET");
    if (!asked) return supported;
    const InstructionSet wanted = std::strcmp(asked, "baseline") == 0 ? InstructionSet::baseline
                                  : std::strcmp(asked, "avx2") == 0   ? InstructionSet::avx2
                                                                      : InstructionSet::avx512;
    return wanted < supported ? wanted : supported;
}

// The best of three versions of a function for this machine.
template <class Function>
Function best_version(Function baseline, [[maybe_unused]] Function avx2,
                      [[maybe_unused]] Function avx512) {
    switch (chosen_instruction_set()) {
        case InstructionSet::avx512:
            return avx512;
        case InstructionSet::avx2:
            return avx2;
        default:
            return baseline;
    }
}

// Defines NAME(ARGUMENTS...) as the best version of IMPLEMENTATION<T, Bytes>(arguments...).
#if WM_X86
#define WM_VERSIONS(NAME, IMPLEMENTATION, PARAMETERS, ARGUMENTS)                   \
    template <class T>                                                             \
    void NAME##_baseline PARAMETERS {                                              \
        IMPLEMENTATION<T, 16> ARGUMENTS;                                           \
    }                                                                              \
    template <class T>                                                             \
    WM_TARGET_AVX2 void NAME##_avx2 PARAMETERS {                                   \
        IMPLEMENTATION<T, 32> ARGUMENTS;                                           \
    }                                                                              \
    template <class T>                                                             \
    WM_TARGET_AVX512 void NAME##_avx512 PARAMETERS {                               \
        IMPLEMENTATION<T, 64> ARGUMENTS;                                           \
    }                                                                              \
    template <class T>                                                             \
    void NAME PARAMETERS {                                                         \
        static const auto chosen =                                                 \
            best_version(&NAME##_baseline<T>, &NAME##_avx2<T>, &NAME##_avx512<T>); \
        chosen ARGUMENTS;                                                          \
    }
#else
#define WM_VERSIONS(NAME, IMPLEMENTATION, PARAMETERS, ARGUMENTS) \
    template <class T>                                           \
    void NAME PARAMETERS {                                       \
        IMPLEMENTATION<T, 16> ARGUMENTS;                         \
    }
#endif

}  // namespace widemargin
