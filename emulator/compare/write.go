package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// files are what a report is written to, by name: the table, the figures as JSON, and two pictures of each load.
func (r Report) files() map[string]string {
	figures, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		panic(err) // numbers and words only
	}
	files := map[string]string{"compare.txt": r.Table(), "compare.json": string(figures) + "\n"}
	for _, result := range r.Results {
		for _, p := range palettes() {
			files[result.picture(p)] = result.svg(p)
		}
	}
	return files
}

// picture is the name of a picture's file.
func (r Result) picture(p palette) string {
	if r.Late {
		return fmt.Sprintf("%s-late-%s.svg", r.Load, p.Name)
	}
	return fmt.Sprintf("%s-%s.svg", r.Load, p.Name)
}

// Write writes the report's files into dir, which is made where it is not there.
func (r Report) Write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write the comparison: %w", err)
	}
	for name, content := range r.files() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			return fmt.Errorf("write the comparison: %w", err)
		}
	}
	return nil
}
