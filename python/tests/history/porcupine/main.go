// Porcupine's verdicts on many small histories of a register.
//
// A history is a line of standard input: what the register holds first, then seven numbers for each
// operation: session, action (0 read, 1 write, 2 compare-and-set), fate (0 ok, 1 failed, 2 unknown),
// version, expected version, start, end. The answer has a character for each: 1 linearizable, 0 not.
package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

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

func verdict(line string) bool {
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
	return porcupine.CheckOperations(register(numbers[0]), history)
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	// Whoever writes the histories reads no answer before the last.
	var answer strings.Builder
	for lines.Scan() {
		if verdict(lines.Text()) {
			answer.WriteByte('1')
		} else {
			answer.WriteByte('0')
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
	fmt.Print(answer.String())
}
