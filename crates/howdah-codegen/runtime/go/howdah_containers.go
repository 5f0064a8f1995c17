// This file reads and writes values that are in others, and composite types.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

var errShort = errors.New("a value that ends too early")

// field takes a value with its length off a source; nil stands for null.
func field(source []byte) (value, rest []byte, err error) {
	if len(source) < 4 {
		return nil, nil, errShort
	}
	length := int32(binary.BigEndian.Uint32(source))
	source = source[4:]
	if length == -1 {
		return nil, source, nil
	}
	if length < 0 || int(length) > len(source) {
		return nil, nil, errShort
	}
	return source[:length:length], source[length:], nil
}

// appendField appends the binary form of a value after its length.
func appendField[T any](out []byte, c *codec[T], value *T, known oids) ([]byte, error) {
	if value == nil {
		return append(out, 0xff, 0xff, 0xff, 0xff), nil
	}
	start := len(out)
	out, err := c.encode(append(out, 0, 0, 0, 0), *value, known)
	if err != nil {
		return out, err
	}
	length := len(out) - start - 4
	if length > math.MaxInt32 {
		return out, errors.New("a value of more than 2 GiB")
	}
	binary.BigEndian.PutUint32(out[start:], uint32(length))
	return out, nil
}

// appendQuoted appends a literal as a part of another one.
func appendQuoted(out, literal []byte) []byte {
	out = append(out, '"')
	for _, c := range literal {
		if c == '"' || c == '\\' {
			out = append(out, '\\')
		}
		out = append(out, c)
	}
	return append(out, '"')
}

// compositeOf makes the codec of a composite type from what reads and writes its fields.
func compositeOf[T any](schema, name string, read func(*reader) T, write func(*writer, T), parts ...*pgType) *codec[T] {
	return &codec[T]{
		typ: &pgType{schema: schema, name: name, parts: parts},
		decode: func(source []byte) (T, error) {
			var zero T
			r := reader{values: make([][]byte, 0, len(parts))}
			if len(source) < 4 || binary.BigEndian.Uint32(source) != uint32(len(parts)) {
				return zero, fmt.Errorf("the type has not %d fields: generate the code again", len(parts))
			}
			for source = source[4:]; len(source) >= 4; {
				value, rest, err := field(source[4:])
				if err != nil {
					return zero, err
				}
				r.values, source = append(r.values, value), rest
			}
			value := read(&r)
			if r.err != nil {
				return zero, fmt.Errorf("field %d: %w", r.next, r.err)
			}
			return value, nil
		},
		encode: func(out []byte, value T, known oids) ([]byte, error) {
			w := writer{out: binary.BigEndian.AppendUint32(out, uint32(len(parts))), form: binaryComposite, known: known}
			return compositeBy(w, write, value)
		},
		literal: func(out []byte, value T) ([]byte, error) {
			w := writer{out: append(out, '('), form: textComposite}
			out, err := compositeBy(w, write, value)
			return append(out, ')'), err
		},
	}
}
