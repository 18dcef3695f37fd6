package engine

import "container/heap"

// indexed is a heap whose items know their place, so that any can be removed.
type indexed[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(item T, index int) // told -1 when the item leaves
}

func (h *indexed[T]) Len() int           { return len(h.items) }
func (h *indexed[T]) Less(i, j int) bool { return h.before(h.items[i], h.items[j]) }

func (h *indexed[T]) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.place(h.items[i], i)
	h.place(h.items[j], j)
}

// Push is for container/heap only; use add.
func (h *indexed[T]) Push(x any) {
	item := x.(T)
	h.place(item, len(h.items))
	h.items = append(h.items, item)
}

// Pop is for container/heap only; use remove.
func (h *indexed[T]) Pop() any {
	last := len(h.items) - 1
	item := h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	h.place(item, -1)
	return item
}

func (h *indexed[T]) add(item T)         { heap.Push(h, item) }
func (h *indexed[T]) remove(index int) T { return heap.Remove(h, index).(T) }
func (h *indexed[T]) first() (T, bool) {
	if len(h.items) == 0 {
		var zero T
		return zero, false
	}
	return h.items[0], true
}
