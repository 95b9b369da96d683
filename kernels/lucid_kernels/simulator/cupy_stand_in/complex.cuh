// CuPy's complex numbers, which are those of thrust. Functions of them are found by the type of their argument.
#pragma once
#include <complex>

using std::complex;
namespace thrust {
using std::complex;
}
