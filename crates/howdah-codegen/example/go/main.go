// Writes three tasks and reads them again, by the code that `howdah codegen generate` made of queries.sql.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5/pgxpool"

	"example/queries"
)

func run(ctx context.Context) error {
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer pool.Close()
	db := queries.New(pool)

	note := "by Friday"
	written, err := db.AppendTasks(ctx, queries.Rows([]queries.TasksRow{
		{Title: "Water the plants", Priority: 1},
		{Title: "Pay the rent", Priority: 3, Note: &note},
		{Title: "Call Ada", Priority: 2},
	}))
	if err != nil {
		return err
	}
	fmt.Println(written, "tasks written")

	first, err := db.TaskByID(ctx, 1)
	if err != nil {
		return err
	}
	fmt.Println("first:", first.Title)

	all, err := db.FindTasks(ctx, nil)
	if err != nil {
		return err
	}
	fmt.Println("all:", len(all))

	minPriority := int32(2)
	urgent, err := db.FindTasks(ctx, &minPriority)
	if err != nil {
		return err
	}
	for _, task := range urgent {
		fmt.Println("urgent:", task.Title)
	}
	return nil
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}
