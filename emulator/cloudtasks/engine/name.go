package engine

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	locationPattern = regexp.MustCompile(`^projects/[A-Za-z0-9:.-]+/locations/[A-Za-z0-9-]+$`)
	queuePattern    = regexp.MustCompile(`^(projects/[A-Za-z0-9:.-]+/locations/[A-Za-z0-9-]+)/queues/[A-Za-z0-9-]{1,100}$`)
)

// CheckLocation refuses, as INVALID_ARGUMENT, what is not projects/P/locations/L.
func CheckLocation(name string) error {
	if locationPattern.MatchString(name) {
		return nil
	}
	return invalid(`Location name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>".`)
}

// locationOf is the projects/P/locations/L part of a queue name.
func locationOf(queue string) (string, error) {
	if m := queuePattern.FindStringSubmatch(queue); m != nil {
		return m[1], nil
	}
	return "", invalidName(`Queue name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>".`,
		"queue name", "projects.locations.queues#Queue.FIELDS.name")
}

// checkQueueName refuses what is not a queue's name; it knows those of its queues
// without looking.
func (e *Engine) checkQueueName(name string) error {
	if e.queues[name] != nil {
		return nil
	}
	_, err := locationOf(name)
	return err
}

// splitTaskName parts a task name into its queue's name and the task ID.
func (e *Engine) splitTaskName(name string) (queue, id string, err error) {
	queue, id, ok := strings.Cut(name, "/tasks/")
	if !ok {
		return "", "", invalidName(`Task name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>/tasks/<TASK_ID>".`,
			"task name", "projects.locations.queues.tasks#Task.FIELDS.name")
	}
	if err := e.checkQueueName(queue); err != nil {
		return "", "", err
	}
	if !isTaskID(id) {
		text := fmt.Sprintf("Task ID %q can contain only letters ([A-Za-z]), numbers ([0-9]), hyphens (-), or underscores (_). Task ID must between 1 and 500 characters.", id)
		return "", "", invalidName(text, "task ID", "projects.locations.queues.tasks#Task.FIELDS.name")
	}
	return queue, id, nil
}

// isTaskID says whether id matches [A-Za-z0-9_-]{1,500}.
func isTaskID(id string) bool {
	for i := range len(id) {
		c := id[i]
		letter, digit := 'A' <= c&^0x20 && c&^0x20 <= 'Z', '0' <= c && c <= '9'
		if !letter && !digit && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 500
}

// lastSegment is the part of a resource name behind its last slash.
func lastSegment(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
