// goroutines: stacks that grow and move, collections, preemption, a recovered fault, while functions are probed.
//
//	goroutines        a fixed amount of work; prints what came out, ends with status 3
//	goroutines stay   works until standard input ends; "ready" first, answers "counts" with "counts TICKS ERRORS"
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

type pair struct{ a, b int64 }

//go:noinline
func work(n int64, s string) int64 {
	if n < 0 {
		return 0
	}
	return n + int64(len(s))
}

// Its stack grows with n; the result is n.
//
//go:noinline
func deep(n int64) int64 {
	var room [64]int64
	if n == 0 {
		return 0
	}
	room[n%64] = n
	return deep(n-1) + room[n%64] - n + 1
}

// A fault at its first instruction where p is nil.
//
//go:noinline
func first(p *pair) int64 { return p.a }

func fault() (said string) {
	defer func() { said = fmt.Sprint(recover()) }()
	first(nil)
	return "nothing"
}

func one(steps int64) (sum int64) {
	for i := int64(0); i < steps; i++ {
		sum += work(i, "from a goroutine")
		if i%100 == 0 {
			sum += deep(300)
			runtime.GC()
		}
	}
	return sum
}

func inParallel(steps int64) (total int64) {
	var group sync.WaitGroup
	for g := 0; g < 8; g++ {
		group.Add(1)
		go func() {
			defer group.Done()
			atomic.AddInt64(&total, one(steps))
		}()
	}
	group.Wait()
	return total
}

func stay() {
	var ticks, errors int64
	for g := 0; g < 4; g++ {
		go func() {
			for {
				if one(100) != 100*99/2+100*16+300 || fault() == "nothing" {
					atomic.AddInt64(&errors, 1)
				}
				atomic.AddInt64(&ticks, 1)
			}
		}()
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println("counts", atomic.LoadInt64(&ticks), atomic.LoadInt64(&errors))
	}
	if errors != 0 {
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) > 1 {
		stay()
		return
	}
	fmt.Println(inParallel(500), work(7, "main"), first(&pair{3, 4}), fault())
	os.Exit(3)
}
