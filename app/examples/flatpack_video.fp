-- FlatPack: frames of a video
-- What moves between frames, on a coarser grid: two frames are enough at any time.
-- group: FlatPack
-- order: 220
-- look: typed {tail coarse - init coarse}: frames beside those before them are two views of one array
-- look: fused {Fold max 0 (tail coarse - init coarse)}: neither the coarse frames nor the changes are ever stored
-- ==
-- random input { [4][6][8]f64 }
-- input { [[[1.0, 9.0, 2.0, 9.0], [9.0, 9.0, 9.0, 9.0]], [[1.0, 0.0, 5.0, 0.0], [0.0, 0.0, 0.0, 0.0]], [[4.0, 0.0, 6.0, 0.0], [0.0, 0.0, 0.0, 0.0]]] }
-- output { [[3.0, 3.0]] }

-- Every second row and column of each frame.
coarser = Smap (Smap (DownSample 2) . DownSample 2)

-- With `stridescope run flatpack_video.fp --data frames=video.npy` the video may be larger than
-- memory: a window is two frames, and moves by one.
main (frames : time Of height Of width) =
  let coarse = Twist coarser frames
  in Fold max 0 (tail coarse - init coarse)
