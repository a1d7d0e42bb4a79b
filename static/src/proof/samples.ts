// Pairs of LMADs to begin with: those of the thesis' programs, and two that meet.

export interface Pair {
  name: string;
  assumptions: string;
  a: string;
  b: string;
}

export const SAMPLES: readonly Pair[] = [
  {
    name: "Needleman-Wunsch, one block of an anti-diagonal and the edge above it",
    assumptions: "n >= 4\n2*b < n\n0 <= i < (n - 1) // b\nb >= 0",
    a: "b*i + {(i + 1 : n*b - b), (b + 1 : 1)}",
    b: "n + 1 + b*i + {(i + 1 : n*b - b), (b : n), (b : 1)}",
  },
  {
    name: "Needleman-Wunsch, two blocks of one anti-diagonal",
    assumptions: "n >= 4\n2*b < n\n0 <= g < h < i + 1\ni < (n - 1) // b\nb >= 0",
    a: "n + 1 + b*i + g*(n*b - b) + {(b : n), (b : 1)}",
    b: "n + 1 + b*i + h*(n*b - b) + {(b : n), (b : 1)}",
  },
  {
    name: "Two rows of a matrix",
    assumptions: "0 <= i < j < n\nm >= 0",
    a: "i*m + {(m : 1)}",
    b: "j*m + {(m : 1)}",
  },
  {
    name: "A row and a column: they meet",
    assumptions: "0 <= i < n",
    a: "i*n + {(n : 1)}",
    b: "i + {(n : n)}",
  },
  {
    name: "Far enough apart, but that is not assumed",
    assumptions: "n >= 1\nm >= 1\nm*m*m >= n*n",
    a: "{(n : 1)}",
    b: "m*m + {(n : 1)}",
  },
  {
    name: "Two rows without an assumption that separates them",
    assumptions: "0 <= i < n\n0 <= j < n\nm >= 1",
    a: "i*m + {(m : 1)}",
    b: "j*m + {(m : 1)}",
  },
];
