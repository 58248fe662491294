// Which kernel, with which constants.
#pragma once

namespace widemargin {

enum class KernelKind { linear, rbf, laplacian, polynomial, sigmoid, precomputed };

// linear       x·z                          rbf        exp(-gamma |x - z|^2)
// polynomial   (gamma x·z + coef0)^degree   laplacian  exp(-gamma |x - z|_1)
// sigmoid      tanh(gamma x·z + coef0)      precomputed: the data are the kernel values
// `constant` is added to every value: an intercept that is penalised like the rest.
struct KernelSpec {
    KernelKind kind = KernelKind::rbf;
    double gamma = 1.0;
    double coef0 = 0.0;
    int degree = 3;
    double constant = 0.0;
};

}  // namespace widemargin
