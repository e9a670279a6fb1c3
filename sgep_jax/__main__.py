"""`python -m sgep_jax`: the sparse principal component of the built-in pit props data."""

import numpy as np

from . import Problem, datasets, solve


def main():
    correlation, names = datasets.pitprops()
    solution = solve(Problem(-correlation), 6).check()
    x = np.asarray(solution.x)
    print("Pit props (Jeffers 1967): the 6 of 13 variables that explain most variance\n")
    for i in sorted(np.asarray(solution.support), key=lambda i: -abs(x[i])):
        print(f"  {names[i]:<8} {x[i]: .4f}  {'#' * round(40 * abs(x[i]))}")
    dense = np.linalg.eigvalsh(correlation)[-1]
    value = -float(solution.objective)
    print(f"\nvariance {value:.6f}, {value / dense:.1%} of what all 13 variables reach")


if __name__ == "__main__":
    main()
