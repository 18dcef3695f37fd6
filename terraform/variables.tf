# ---- where ----------------------------------------------------------------------------------------------------------

variable "project_id" {
  description = "Google Cloud project to deploy to. One environment per project keeps their quotas and their IAM apart."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project_id))
    error_message = "Give the project's id (6-30 lower-case letters, digits and hyphens), not its name or number."
  }
}

variable "region" {
  description = "Region of everything. Functions, queue and Redis must share it: a queued request makes about three Redis calls."
  type        = string

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]$", var.region))
    error_message = "Give a region such as europe-west1, not a zone or a multi-region."
  }
}

variable "name" {
  description = "Prefix of every resource's name. Two environments in one project need two names."
  type        = string
  default     = "seriatim"

  # <name>-executor-<project number>, one DNS label of 63 characters, makes the deterministic URL; a service account's id
  # (<name>-executor) has 30 at most: https://cloud.google.com/run/docs/triggering/https-request#deterministic
  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{1,18}[a-z0-9]$", var.name))
    error_message = "Give 3-20 lower-case letters, digits and hyphens that begin with a letter and do not end in a hyphen."
  }
}

variable "protect" {
  description = "Refuse to destroy what holds data: queue, Redis, Firestore. True in production."
  type        = bool
  default     = true
}

# ---- what -----------------------------------------------------------------------------------------------------------

variable "config_file" {
  description = "Path of the configuration document (targets, lanes, origins, callers; YAML or JSON), the same that the emulator's -config takes."
  type        = string

  validation {
    condition     = can(keys(yamldecode(file(var.config_file)).targets))
    error_message = "The file cannot be read, is no YAML, or configures no targets: see the configuration section of the README."
  }

  # https://cloud.google.com/run/quotas: an environment variable holds at most 32 KiB.
  validation {
    condition     = try(length(file(var.config_file)), 0) <= 32768
    error_message = "The document is longer than 32,768 bytes, the most that an environment variable holds: use fewer or wider patterns."
  }
}

variable "target_environment" {
  description = "Values, no secrets, that the document reads by {env: NAME}, by name."
  type        = map(string)
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.target_environment) : can(regex("^[A-Z][A-Z0-9_]*$", name)) && !startswith(name, "SERIATIM_")])
    error_message = "Names are upper-case letters, digits and underscores; those that begin with SERIATIM_ are set by Terraform alone."
  }
}

variable "target_secrets" {
  description = "Secrets that the document reads by {env: NAME}, by name: a secret of Secret Manager in this project and its version. A new version is used after the next apply that names it."
  type        = map(object({ secret = string, version = string }))
  default     = {}

  validation {
    condition     = alltrue([for name in keys(var.target_secrets) : can(regex("^[A-Z][A-Z0-9_]*$", name)) && !startswith(name, "SERIATIM_") && !contains(keys(var.target_environment), name)])
    error_message = "Names are upper-case letters, digits and underscores, do not begin with SERIATIM_ and are in one of target_secrets and target_environment only."
  }

  validation {
    condition     = alltrue([for s in values(var.target_secrets) : can(regex("^[0-9]+$", s.version)) && can(regex("^[A-Za-z0-9_-]{1,255}$", s.secret))])
    error_message = "Give the secret's short name and a version number: with latest, instances of one deployment could use different values."
  }
}

variable "envelope_keys" {
  description = "Names of the HMAC keys of task envelopes: the first signs, all verify. Rotation: [a] -> [a, b] -> [b, a] -> 32 days later [b]."
  type        = list(string)
  default     = ["a"]

  validation {
    condition     = length(var.envelope_keys) >= 1 && length(var.envelope_keys) <= 5 && length(distinct(var.envelope_keys)) == length(var.envelope_keys)
    error_message = "Give one to five different names."
  }
}

# ---- who ------------------------------------------------------------------------------------------------------------

variable "invokers" {
  description = "Who may call the ingest function: user:, group:, serviceAccount:, domain:, principal: or principalSet: members. They need roles/run.invoker, which this grants, and send a Google identity token."
  type        = list(string)

  validation {
    condition     = length(var.invokers) > 0 && alltrue([for m in var.invokers : can(regex("^(user|group|serviceAccount|domain|principal|principalSet):.+", m))])
    error_message = "Give at least one member with its kind, such as serviceAccount:app@project.iam.gserviceaccount.com; allUsers and allAuthenticatedUsers would make the function public."
  }
}

variable "ingest_ingress" {
  description = "From where ingest can be reached at all, before IAM is asked."
  type        = string
  default     = "ALLOW_ALL"

  validation {
    condition     = contains(["ALLOW_ALL", "ALLOW_INTERNAL_ONLY", "ALLOW_INTERNAL_AND_GCLB"], var.ingest_ingress)
    error_message = "Give ALLOW_ALL, ALLOW_INTERNAL_ONLY or ALLOW_INTERNAL_AND_GCLB."
  }
}

# ---- how much -------------------------------------------------------------------------------------------------------

variable "ingest" {
  description = "Size of the ingest function. timeout_seconds defaults to the longest target timeout + 60."
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
    condition     = var.ingest.timeout_seconds == null || try(var.ingest.timeout_seconds >= local.longest_timeout + 60 && var.ingest.timeout_seconds <= 3600, false)
    error_message = "Ingest's timeout must be at least the longest target timeout + 60 s (it runs a request, and may wait 60 s for one), and at most 3600 s."
  }
}

variable "executor" {
  description = "Size of the executor function. timeout_seconds defaults to the longest dispatch deadline."
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

# ---- network --------------------------------------------------------------------------------------------------------

variable "subnet_range" {
  description = "CIDR of the functions' subnet, /26 or wider: an instance takes two addresses, and a new revision runs beside the old one."
  type        = string
  default     = "10.8.0.0/24"

  validation {
    condition     = can(cidrhost(var.subnet_range, 0)) && try(tonumber(split("/", var.subnet_range)[1]), 32) <= 26
    error_message = "Give a CIDR of /26 or wider, such as 10.8.0.0/24."
  }

  validation {
    condition     = try(pow(2, 32 - tonumber(split("/", var.subnet_range)[1])) >= 2 * (var.ingest.max_instances + var.executor.max_instances) + 4, false)
    error_message = "The range is too small: two addresses for each of the functions' instances, and the four that Google keeps."
  }
}

variable "redis_range" {
  description = "CIDR of the peering in which Redis lives, /24 or wider, apart from subnet_range."
  type        = string
  default     = "10.9.0.0/24"

  validation {
    condition     = can(cidrhost(var.redis_range, 0)) && try(tonumber(split("/", var.redis_range)[1]), 32) <= 24
    error_message = "Give a CIDR of /24 or wider, such as 10.9.0.0/24."
  }

  validation {
    condition = try(
      cidrhost("${cidrhost(var.redis_range, 0)}/${min(split("/", var.redis_range)[1], split("/", var.subnet_range)[1])}", 0) !=
      cidrhost("${cidrhost(var.subnet_range, 0)}/${min(split("/", var.redis_range)[1], split("/", var.subnet_range)[1])}", 0), false
    )
    error_message = "The range overlaps subnet_range."
  }
}

variable "private_target_ranges" {
  description = "Private CIDRs that the functions may call, for targets inside the network. All other private addresses but Redis are closed to them."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for range in var.private_target_ranges : can(cidrhost(range, 0))])
    error_message = "Give CIDRs such as 10.20.0.0/16."
  }
}

variable "egress_addresses" {
  description = "Names of reserved regional external addresses (gcloud compute addresses create) from which targets are called, for targets that list addresses. Empty: Google's changing ones, without NAT. They are reserved apart so that they outlive a destroy."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for name in var.egress_addresses : can(regex("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", name))])
    error_message = "Give the addresses' names, not the addresses."
  }
}

# ---- operations -----------------------------------------------------------------------------------------------------

variable "firestore_location" {
  description = "Location of the Firestore database, which cannot be changed. Empty: region."
  type        = string
  default     = ""

  validation {
    condition     = var.firestore_location == "" || can(regex("^[a-z]+-?[a-z]*[0-9]*$", var.firestore_location))
    error_message = "Give a region, or a multi-region such as eur3 or nam5."
  }
}

variable "sweep_schedule" {
  description = "When Cloud Scheduler has the executor sweep: a cron line, UTC. Every minute bounds how long a stalled lane stands (two sweeps)."
  type        = string
  default     = "* * * * *"

  validation {
    condition     = can(regex("^(\\S+ ){4}\\S+$", var.sweep_schedule))
    error_message = "Give the five fields of a cron line."
  }
}

variable "notification_channels" {
  description = "Notification channels that alerts go to: projects/P/notificationChannels/N. Empty: alerts show in the console only."
  type        = list(string)
  default     = []

  validation {
    condition     = alltrue([for c in var.notification_channels : can(regex("^projects/[^/]+/notificationChannels/[0-9]+$", c))])
    error_message = "Give full names, projects/P/notificationChannels/N, as gcloud beta monitoring channels list prints them."
  }
}

variable "runbook_url" {
  description = "Page with the runbooks that alerts link to: the README, as your operators read it."
  type        = string
  default     = "https://github.com/seriatim/seriatim/blob/main/README.md"

  validation {
    condition     = can(regex("^https://[^#\\s]+$", var.runbook_url))
    error_message = "Give an https URL without a fragment."
  }
}

variable "alerts" {
  description = "Thresholds: tasks in the queue, seconds that the 99th percentile of dispatches may come late, dead letters in five minutes."
  type = object({
    queue_depth            = optional(number, 100000)
    dispatch_delay_seconds = optional(number, 60)
    dead_letters           = optional(number, 0)
  })
  default = {}

  validation {
    condition     = var.alerts.queue_depth > 0 && var.alerts.dispatch_delay_seconds > 0 && var.alerts.dead_letters >= 0
    error_message = "Depth and delay are above 0, dead letters 0 or more."
  }
}
