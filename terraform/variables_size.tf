# How much of everything.

variable "ingest" {
  description = "Size of the ingest function. timeout_seconds defaults to the longest timeout of a target or origin + 90."
  type = object({
    cpu             = optional(number, 1)
    memory_mib      = optional(number, 512)
    concurrency     = optional(number, 80)
    min_instances   = optional(number, 0)
    max_instances   = optional(number, 20)
    timeout_seconds = optional(number)
  })
  default = {}

  # https://cloud.google.com/run/docs/configuring/services/cpu
  validation {
    condition     = contains([1, 2, 4, 8], var.ingest.cpu) && var.ingest.memory_mib >= 512 && var.ingest.memory_mib <= var.ingest.cpu * 4096
    error_message = "Give 1, 2, 4 or 8 CPUs and 512 MiB to 4096 MiB per CPU: more than one request at once needs a whole CPU."
  }

  validation {
    condition     = var.ingest.concurrency >= 2 && var.ingest.concurrency <= 1000
    error_message = "Concurrency is 2 to 1000: most requests wait for a target, and one at a time would be one instance each."
  }

  validation {
    condition     = var.ingest.min_instances >= 0 && var.ingest.min_instances <= var.ingest.max_instances && var.ingest.max_instances >= 1 && var.ingest.max_instances <= 100
    error_message = "Instances: 0 <= min <= max, 1 <= max <= 100 (direct VPC egress gives a revision 100 by default)."
  }

  validation {
    condition     = var.ingest.timeout_seconds == null || try(var.ingest.timeout_seconds >= local.longest_call + 60 && var.ingest.timeout_seconds <= 3600, false)
    error_message = "Ingest's timeout must be at least the longest timeout of a target or origin + 60 s (it runs a request or fetches, and a client may wait 60 s besides), 10 s more for a target with max_concurrent, and at most 3600 s."
  }
}

variable "executor" {
  description = "Size of the executor function. timeout_seconds defaults to the longest dispatch deadline; a lower one cuts off what a delivery drives for others in its second half."
  type = object({
    cpu             = optional(number, 1)
    memory_mib      = optional(number, 512)
    concurrency     = optional(number, 80)
    min_instances   = optional(number, 0)
    max_instances   = optional(number, 20)
    timeout_seconds = optional(number)
  })
  default = {}

  validation {
    condition     = contains([1, 2, 4, 8], var.executor.cpu) && var.executor.memory_mib >= 512 && var.executor.memory_mib <= var.executor.cpu * 4096
    error_message = "Give 1, 2, 4 or 8 CPUs and 512 MiB to 4096 MiB per CPU: more than one delivery at once needs a whole CPU."
  }

  validation {
    condition     = var.executor.concurrency >= 2 && var.executor.concurrency <= 1000
    error_message = "Concurrency is 2 to 1000: most deliveries wait for a target or at a gate."
  }

  validation {
    condition     = var.executor.min_instances >= 0 && var.executor.min_instances <= var.executor.max_instances && var.executor.max_instances >= 1 && var.executor.max_instances <= 100
    error_message = "Instances: 0 <= min <= max, 1 <= max <= 100 (direct VPC egress gives a revision 100 by default)."
  }

  validation {
    condition     = var.executor.timeout_seconds == null || try(var.executor.timeout_seconds >= local.inline_wait + local.longest_timeout + 30 && var.executor.timeout_seconds <= local.dispatch_deadline, false)
    error_message = "The executor's timeout must be at least the inline wait (10 s) + the longest target timeout + 30 s, so that a run fits, and at most the dispatch deadline (10 s + twice that timeout + 30 s, at most 30 min), after which Cloud Tasks delivers again."
  }
}

variable "queue" {
  description = "Limits of the one queue, for all lanes: dispatches per second (snoozes and drives included), deliveries at once, share of queue operations that are logged."
  type = object({
    max_dispatches_per_second = optional(number, 500)
    max_concurrent_dispatches = optional(number, 1000)
    log_sampling_ratio        = optional(number, 0.01)
  })
  default = {}

  validation {
    condition     = var.queue.max_dispatches_per_second > 0 && var.queue.max_dispatches_per_second <= local.queue_quota.dispatches_per_second
    error_message = "Dispatches per second: above 0, at most 500, which is Cloud Tasks' limit for a queue."
  }

  validation {
    condition     = var.queue.max_concurrent_dispatches >= 1 && var.queue.max_concurrent_dispatches <= min(local.queue_quota.concurrent_dispatches, var.executor.max_instances * var.executor.concurrency)
    error_message = "Deliveries at once: at least 1, at most 5000 and the executor's max_instances x concurrency; more would be answered 429, which slows the whole queue."
  }

  validation {
    condition     = var.queue.log_sampling_ratio >= 0 && var.queue.log_sampling_ratio <= 1
    error_message = "The sampling ratio is 0 to 1."
  }
}

variable "redis" {
  description = "Memorystore for Redis, STANDARD_HA. RDB snapshots every 1, 6, 12 or 24 hours; the maintenance window is one hour that begins at hour (UTC) on day."
  type = object({
    memory_gb          = optional(number, 1)
    snapshot_hours     = optional(number, 1)
    maintenance_day    = optional(string, "SUNDAY")
    maintenance_hour   = optional(number, 3)
    memory_alert_ratio = optional(number, 0.8)
  })
  default = {}

  validation {
    condition     = var.redis.memory_gb >= 1 && var.redis.memory_gb <= 300 && floor(var.redis.memory_gb) == var.redis.memory_gb
    error_message = "Redis has 1 to 300 whole GiB."
  }

  validation {
    condition     = contains([1, 6, 12, 24], var.redis.snapshot_hours)
    error_message = "Snapshots are every 1, 6, 12 or 24 hours."
  }

  validation {
    condition     = contains(["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"], var.redis.maintenance_day) && var.redis.maintenance_hour >= 0 && var.redis.maintenance_hour <= 23 && floor(var.redis.maintenance_hour) == var.redis.maintenance_hour
    error_message = "Give a weekday in capitals and an hour from 0 to 23 (UTC)."
  }

  validation {
    condition     = var.redis.memory_alert_ratio > 0 && var.redis.memory_alert_ratio < 1
    error_message = "The ratio lies between 0 and 1: a full Redis refuses new requests."
  }
}

variable "cache_memory_gb" {
  description = "GiB of a second Redis, without a replica, for collapsed reads; 0: they share the Redis of the lanes, within the bounds of each origin's max_bytes."
  type        = number
  default     = 0

  validation {
    condition     = var.cache_memory_gb >= 0 && var.cache_memory_gb <= 300 && floor(var.cache_memory_gb) == var.cache_memory_gb
    error_message = "The cache has 0 to 300 whole GiB."
  }
}
