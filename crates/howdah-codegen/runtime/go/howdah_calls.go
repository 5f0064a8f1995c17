// This file makes the calls of statements: their text, and their parameters as literals.

import (
	"fmt"
	"strconv"
	"strings"
)

// call is a statement with what it is given.
type call struct {
	sql    string
	values []any
	err    error
}

// calls makes a call of each item of a batch.
func calls[T any](items []T, of func(T) call) []call {
	all := make([]call, len(items))
	for i, item := range items {
		all[i] = of(item)
	}
	return all
}

func set[T any](to *call, name string, c *codec[T], value T) {
	if to.err != nil {
		return
	}
	literal, err := c.literal(nil, value)
	if err != nil {
		to.err = &ValueError{Name: "parameter " + name, Err: err}
		return
	}
	to.values = append(to.values, string(literal))
}

func setNull[T any](to *call, name string, c *codec[T], value *T) {
	if value != nil {
		set(to, name, c, *value)
	} else {
		to.values = append(to.values, nil)
	}
}

func (c *call) literals() [][]byte {
	literals := make([][]byte, len(c.values))
	for i, value := range c.values {
		if text, ok := value.(string); ok {
			literals[i] = []byte(text)
		}
	}
	return literals
}

// joined is a call whose text is joined from constants. What callers give decides which, and is not among them.
type joined struct {
	call call
	text strings.Builder
	// numbers are those of the parameters that the text has by now.
	numbers map[string]int
}

// add joins a text.
func (j *joined) add(text string) {
	j.text.WriteString(text)
}

// done gives the call.
func (j *joined) done() call {
	j.call.sql = j.text.String()
	return j.call
}

// place joins the place of a parameter, whose value goes once.
func place[T any](j *joined, name, ty string, c *codec[T], value T) {
	if j.isNew(name) {
		set(&j.call, name, c, value)
	}
	j.number(name, ty)
}

func placeNull[T any](j *joined, name, ty string, c *codec[T], value *T) {
	if j.isNew(name) {
		setNull(&j.call, name, c, value)
	}
	j.number(name, ty)
}

// isNew tells whether a parameter is in the text for the first time, and gives it a number then.
func (j *joined) isNew(name string) bool {
	if j.numbers[name] > 0 {
		return false
	}
	if j.numbers == nil {
		j.numbers = map[string]int{}
	}
	j.numbers[name] = len(j.numbers) + 1
	return true
}

func (j *joined) number(name, ty string) {
	j.add("($" + strconv.Itoa(j.numbers[name]) + "::" + ty + ")")
}

// choose joins the text that a caller picked by its number, from 1.
func choose[T ~int](j *joined, name string, picked T, texts []string) {
	if picked < 1 || int(picked) > len(texts) {
		if j.call.err == nil {
			j.call.err = &ValueError{Name: "parameter " + name, Err: fmt.Errorf("%d is none of its constants", int(picked))}
		}
		return
	}
	j.add(texts[picked-1])
}
