// What the Go contenders share: their task, the words READY, GO, DONE and FAILED, and the values of a CSV file.
package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

type column struct{ name, typ string }

// task is what to load, and where: the environment that README.md lists.
type task struct {
	url, table, input string
	columns           []column
	batch             int
}

func taskFromEnvironment() (task, error) {
	t := task{url: os.Getenv("CONTENDER_URL"), table: os.Getenv("CONTENDER_TABLE"), input: os.Getenv("CONTENDER_INPUT")}
	for _, line := range strings.Split(os.Getenv("CONTENDER_COLUMNS"), "\n") {
		name, typ, _ := strings.Cut(line, " ")
		t.columns = append(t.columns, column{name, typ})
	}
	var err error
	t.batch, err = strconv.Atoi(os.Getenv("CONTENDER_BATCH"))
	return t, err
}

func (t task) names() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// open gives the records of the CSV file after its header.
func (t task) open() (*csv.Reader, *os.File, error) {
	file, err := os.Open(t.input)
	if err != nil {
		return nil, nil, err
	}
	reader := csv.NewReader(bufio.NewReaderSize(file, 1<<20))
	reader.ReuseRecord = true
	_, err = reader.Read()
	return reader, file, err
}

// values makes a record's fields values of their columns' types; an empty field is nil.
func (t task) values(record []string) ([]any, error) {
	values := make([]any, len(record))
	for i, field := range record {
		if field == "" {
			continue
		}
		value, err := parse(t.columns[i].typ, field)
		if err != nil {
			return nil, err
		}
		values[i] = value
	}
	return values, nil
}

func parse(typ, field string) (any, error) {
	switch typ {
	case "text", "jsonb":
		return field, nil
	case "smallint", "integer", "bigint":
		return strconv.ParseInt(field, 10, 64)
	case "double precision":
		return strconv.ParseFloat(field, 64)
	case "numeric(10,2)":
		var number pgtype.Numeric
		err := number.Scan(field)
		return number, err
	case "boolean":
		return strconv.ParseBool(field)
	case "timestamptz":
		return moment(field)
	case "uuid":
		var id pgtype.UUID
		err := id.Scan(field)
		return id, err
	case "text[]":
		return texts(field), nil
	}
	return nil, fmt.Errorf("no value for %s", typ)
}

// moment reads ISO 8601 with a T or a space, and an offset of hours alone.
func moment(field string) (time.Time, error) {
	if strings.Contains(field, "T") && strings.HasSuffix(field, "Z") {
		return time.Parse(time.RFC3339, field)
	}
	return time.Parse("2006-01-02 15:04:05Z07", strings.Replace(field, "T", " ", 1))
}

// texts gives the elements of an array's literal, {a,"b c",NULL}.
func texts(literal string) []*string {
	texts := []*string{}
	rest := strings.TrimSuffix(strings.TrimPrefix(literal, "{"), "}")
	for rest != "" {
		var text string
		if rest[0] == '"' {
			text, rest = unquoted(rest[1:])
			rest = strings.TrimPrefix(rest, ",")
		} else if text, rest, _ = strings.Cut(rest, ","); text == "NULL" {
			texts = append(texts, nil)
			continue
		}
		texts = append(texts, &text)
	}
	return texts
}

// unquoted gives an element up to its closing quote, and what comes behind that.
func unquoted(rest string) (string, string) {
	var text strings.Builder
	for at := 0; at < len(rest); at++ {
		switch rest[at] {
		case '"':
			return text.String(), rest[at+1:]
		case '\\':
			at++
		}
		text.WriteByte(rest[min(at, len(rest)-1)])
	}
	return text.String(), ""
}

// begin says that everything before the load is done, and waits until the clock runs.
func begin() error {
	fmt.Println("READY")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil && strings.TrimSpace(line) != "GO" {
		err = errors.New("no GO on standard input")
	}
	return err
}

var ways = map[string]func(context.Context, *pgx.Conn, task) (int64, error){
	"copy-from":  copyFrom,
	"send-batch": sendBatch,
}

// compete writes in the way that the first argument names: a load in one transaction, or a service.
func compete() (int64, error) {
	if len(os.Args) != 2 {
		return 0, errors.New("give a way of writing")
	}
	t, err := taskFromEnvironment()
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	if writes(t)[os.Args[1]] != nil {
		return serve(ctx, t, os.Args[1])
	}
	if ways[os.Args[1]] == nil {
		return 0, fmt.Errorf("there is no way %s", os.Args[1])
	}
	connection, err := pgx.Connect(ctx, t.url)
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	return ways[os.Args[1]](ctx, connection, t)
}

func main() {
	rows, err := compete()
	if err != nil {
		fmt.Println("FAILED", strings.Join(strings.Fields(err.Error()), " "))
		os.Exit(1)
	}
	fmt.Println("DONE", rows)
}
