# What operators look at and decide.

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
  description = "Thresholds: tasks in the queue, seconds that the 99th percentile of dispatches may come late, dead letters in five minutes, those that died of their deadline included."
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
