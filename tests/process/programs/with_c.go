// with_c: goroutines that call C, whose functions run on the threads' own stacks.
package main

/*
#include <stdlib.h>
static int add(int a, int b) { return a + b; }
*/
import "C"
import "fmt"

//go:noinline
func work(n int) int { return int(C.add(C.int(n), 1)) }

func main() {
	results := make(chan int)
	for g := 0; g < 4; g++ {
		go func() {
			total := 0
			for i := 0; i < 1000; i++ {
				total += work(i)
				C.free(C.calloc(3, 24))
			}
			results <- total
		}()
	}
	total := 0
	for g := 0; g < 4; g++ {
		total += <-results
	}
	fmt.Println(total)
}
