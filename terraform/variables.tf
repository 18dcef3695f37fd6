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
  # (<name>-executor) has 6-30: https://cloud.google.com/run/docs/triggering/https-request#deterministic
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

  # https://cloud.google.com/run/quotas: an environment variable holds at most 32 KiB. length counts characters; base64 makes 4 of
  # 3 bytes.
  validation {
    condition     = try(length(filebase64(var.config_file)), 0) <= 43688
    error_message = "The document is longer than 32,766 bytes, the most that an environment variable holds: use fewer or wider patterns."
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
