-- Five-point stencil
-- Each cell moves towards the mean of its neighbours; a loop repeats it.
-- group: Stencils
-- order: 100
-- look: flat {grid[i64.max (i - 1) 0, j]}: one kernel over rows and columns
-- look: funmem/memory {loop grid for _step < steps do step grid}: each step writes a new block, the loop hands it on
-- ==
-- entry: main
-- input { [[0f32, 0f32, 0f32], [0f32, 8f32, 0f32], [0f32, 0f32, 0f32]] 1i32 }
-- output { [[0f32, 2f32, 0f32], [2f32, 0f32, 2f32], [0f32, 2f32, 0f32]] }
-- input { [[1f32, 2f32], [3f32, 4f32]] 0i32 }
-- output { [[1f32, 2f32], [3f32, 4f32]] }
-- random input { [512][512]f32 10i32 }
-- auto output

-- | One step; what lies outside counts as the cell at the border.
def step [n] [m] (grid: [n][m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j ->
    let north = grid[i64.max (i - 1) 0, j]
    let south = grid[i64.min (i + 1) (n - 1), j]
    let west = grid[i, i64.max (j - 1) 0]
    let east = grid[i, i64.min (j + 1) (m - 1)]
    in (north + south + west + east) / 4)

entry main [n] [m] (grid: [n][m]f32) (steps: i32) : [n][m]f32 =
  loop grid for _step < steps do step grid
