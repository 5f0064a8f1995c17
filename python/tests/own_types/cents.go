package own

import (
	"fmt"
	"strconv"
	"strings"
)

// Cents are an amount of money.
type Cents int64

// CentsOf takes an amount with two digits.
func CentsOf(amount Numeric) Cents {
	count, _ := strconv.ParseInt(strings.ReplaceAll(string(amount), ".", ""), 10, 64)
	return Cents(count)
}

// Amount gives it with two digits.
func (c Cents) Amount() Numeric {
	return Numeric(fmt.Sprintf("%d.%02d", c/100, c%100))
}
