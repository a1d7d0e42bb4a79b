-- | What the file is about.

-- A comment of its own.
import "lib/a"
open import "lib/b"
local module c = import "c"

type vec [n] 't = [n]t
type^ fn = i32 -> (x: i64) -> [x]i32
type~ sized = ?[n].[n]i32

type point =
  { x: f32 -- from above
  , y: f32
  }

type shape =
    #circle f32
  | #rect (f32, f32) -- width and height
  | #none

module type monoid = {
  type t
  val one : t
  val + : t -> t -> t

  -- | Sums of all.
  val sum [n] : [n]t -> t
  include other with u = i32
  module m: {type v}
}

module sums (M: monoid) (N: {type t}) : monoid with t = M.t = {
  type t = M.t
  def one = M.one

  def (+) (a: t) (b: t) = a M.+ b

  -- | Of no use.
  def sum xs =
    reduce (+) one xs
  -- the end
}

module both = sums i32 (\(P: monoid) -> {type t = P.t})
module named : monoid = {type t = i32 def one = 1}

-- ==
-- entry: main
-- input { [1, 2] } output { 3 }
#[noinline]
entry main [n] (xs: *[n]i32) (p: {x: i32, y: []i32}) : (i32, *[]i32) =
  let a = 1
  let b: i64 = 0xff + 'a' -- trailing
  let (c, {x = d, y}) = (1.5e3f32, p)

  -- below an empty line
  let f [m] 't (x: t) (ys: [m]t): t = if m > 1 then x else ys[0]
  let xs[0] = a
  let (++) x y = x + y
  def g = f
  in match (a, b)
     case (1, _) -> (a, xs with [1:2] = [3])
     case (-1, #rect (x, _)) ->
       loop (acc, k) = (0, xs)
       for i < n do
         let z = acc + i
         in (z, k)
     case _ ->
       assert (a == b)
              (if a < b
               then (c, y)
               else if a > b
               then #[unsafe] (d, y)
               else (p.y[0, 1:n:2], ???))

def pipeline [n] 'a
             (xs: [n]a)
             (ys: [n]a) =
  zip xs ys
  |> map (\(x, y) ->
            let z = x `max` y
            in z)
  |> filter (.0)
  |> map (.[0])
     <| f64.(x + y)
        && !(a || b)

def sections = ((+ 1), (2 -), (-3), (`f` 4), (+), (m.+), (.a.b))
def ranges = (0..<n, 0..2...10, 10..9..>0)

def records =
  { a = 1
  , b =
      f x
        y
  , c
  }

def while_loop (x: i32) = loop x while x > 0 do x - 1
def each (xs: []i32) = loop s = 0 for x in xs do s + x

def updates r =
  r with a.b = 1
    with c = 2

def typed = ((x : i32) :> i32, "text\n", true)
