// Porcupine's verdicts on many small histories of a register.
//
// A history is a line of standard input: what the register holds first, then seven numbers for each
// operation: session, action (0 read, 1 write, 2 compare-and-set), fate (0 ok, 1 failed, 2 unknown),
// version, expected version, start, end. The answer has a character for each: 1 linearizable, 0 not.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/anishathalye/porcupine"
)

const (
	read = iota
	write
	compareAndSet
)

const (
	ok = iota
	failed
	unknown
)

type operation struct {
	action, fate, version, expected int
}

func register(initial int) porcupine.Model {
	return porcupine.Model{
		Init: func() interface{} { return initial },
		Step: func(state, input, _ interface{}) (bool, interface{}) {
			held, did := state.(int), input.(operation)
			switch did.action {
			case read:
				return did.version == held, held
			case write:
				return true, did.version
			default:
				if did.expected == held {
					return true, did.version
				}
				// Porcupine has every operation take effect; one that nobody waits for may find another value.
				return did.fate == unknown, held
			}
		},
	}
}

func parsed(line string) (porcupine.Model, []porcupine.Operation) {
	var numbers []int
	for _, field := range strings.Fields(line) {
		number, err := strconv.Atoi(field)
		if err != nil {
			panic(err)
		}
		numbers = append(numbers, number)
	}
	var history []porcupine.Operation
	for row := numbers[1:]; len(row) > 0; row = row[7:] {
		did := operation{action: row[1], fate: row[2], version: row[3], expected: row[4]}
		if did.fate == failed || did.fate == unknown && did.action == read {
			continue
		}
		end := int64(row[6])
		if did.fate == unknown {
			end = math.MaxInt64
		}
		history = append(history, porcupine.Operation{
			ClientId: row[0], Input: did, Call: int64(row[5]), Return: end,
		})
	}
	return register(numbers[0]), history
}

// The whole process's, the garbage collector's threads included.
func processorNs() int64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

func main() {
	timed := flag.Bool("time", false, "say how long the checks took")
	flag.Parse()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	var checkedNs int64
	// Whoever writes the histories reads no answer before the last.
	var answer strings.Builder
	for lines.Scan() {
		model, history := parsed(lines.Text())
		beginNs := processorNs()
		holds := porcupine.CheckOperations(model, history)
		checkedNs += processorNs() - beginNs
		if holds {
			answer.WriteByte('1')
		} else {
			answer.WriteByte('0')
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
	fmt.Print(answer.String())
	if *timed {
		fmt.Fprintln(os.Stderr, checkedNs)
	}
}
