// Kubernetes' own word on selectors: one case a line on stdin, one verdict a line on stdout. Decides nothing itself.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// One of the two selectors; `LabelSelector` may be null, which selects nothing.
type selectorCase struct {
	Kind          string                       `json:"kind"`
	LabelSelector *metav1.LabelSelector        `json:"labelSelector"`
	NodeSelector  []v1.NodeSelectorRequirement `json:"nodeSelector"`
	Labels        []map[string]string          `json:"labels"`
}

// Of a selector that is not valid, Matches is empty.
type verdict struct {
	Valid   bool   `json:"valid"`
	Matches []bool `json:"matches"`
}

func selectorJudge() int {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	answers := json.NewEncoder(out)
	for lines.Scan() {
		var asked selectorCase
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintf(os.Stderr, "no case: %v: %s\n", err, lines.Text())
			return 1
		}
		if err := answers.Encode(judge(asked)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func judge(asked selectorCase) verdict {
	given := verdict{Valid: true, Matches: []bool{}}
	if asked.Kind == "node" {
		terms := []v1.NodeSelectorTerm{{MatchExpressions: asked.NodeSelector}}
		selector, err := nodeaffinity.NewNodeSelector(&v1.NodeSelector{NodeSelectorTerms: terms})
		if err != nil {
			return verdict{Matches: []bool{}}
		}
		for _, each := range asked.Labels {
			given.Matches = append(given.Matches, selector.Match(&v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: each}}))
		}
		return given
	}
	selector, err := metav1.LabelSelectorAsSelector(asked.LabelSelector)
	if err != nil {
		return verdict{Matches: []bool{}}
	}
	for _, each := range asked.Labels {
		given.Matches = append(given.Matches, selector.Matches(labels.Set(each)))
	}
	return given
}
