// What the forty questions ask of Go: a function that takes a text which no NUL ends. It prints what each call was given.
package main

import "fmt"

//go:noinline
func greet(n int64, name string) int64 { return n + int64(len(name)) }

func main() {
	text := "a text of Go"
	var sum int64
	for n := 1; n <= 5; n++ {
		fmt.Printf("greet %s\n", text[n:2*n])
		sum += greet(int64(n), text[n:2*n])
	}
	fmt.Println(sum)
}
