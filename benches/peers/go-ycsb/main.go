// go-ycsb with only the databases that are compared, so that it builds without theirs.
//
//	go-ycsb load|run DATABASE key=value …
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/magiconair/properties"
	_ "github.com/pingcap/go-ycsb/db/cassandra"
	_ "github.com/pingcap/go-ycsb/db/mongodb"
	_ "github.com/pingcap/go-ycsb/db/redis"
	"github.com/pingcap/go-ycsb/pkg/client"
	"github.com/pingcap/go-ycsb/pkg/measurement"
	"github.com/pingcap/go-ycsb/pkg/prop"
	_ "github.com/pingcap/go-ycsb/pkg/workload"
	"github.com/pingcap/go-ycsb/pkg/ycsb"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) < 3 {
		must(fmt.Errorf("usage: go-ycsb load|run DATABASE key=value …"))
	}
	given := properties.NewProperties()
	for _, pair := range os.Args[3:] {
		key, value, _ := strings.Cut(pair, "=")
		_, _, err := given.Set(key, value)
		must(err)
	}
	given.Set(prop.DoTransactions, map[string]string{"load": "false", "run": "true"}[os.Args[1]])
	given.Set(prop.Command, os.Args[1])
	measurement.InitMeasure(given)
	workload, err := ycsb.GetWorkloadCreator("core").Create(given)
	must(err)
	database, err := ycsb.GetDBCreator(os.Args[2]).Create(given)
	must(err)
	defer database.Close()
	client.NewClient(given, workload, client.DbWrapper{DB: database}).Run(context.Background())
	measurement.Output()
}
