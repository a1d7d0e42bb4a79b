-- Writing to computed places of an array, any number of times for each element of another one.

def scatter_stream [k] 'a 'b (dest: *[k]a) (f: *acc ([k]a) -> b -> acc ([k]a)) (bs: []b) : *[k]a =
  intrinsics.scatter_stream dest f bs

def reduce_by_index_stream [k] 'a 'b
    (dest: *[k]a) (op: a -> a -> a) (ne: a) (f: *acc ([k]a) -> b -> acc ([k]a)) (bs: []b)
  : *[k]a =
  intrinsics.hist_stream dest op ne f bs

def write [n] 't (acc: *acc ([n]t)) (i: i64) (v: t) : *acc ([n]t) = intrinsics.acc_write acc i v
