locals {
  # What shared/record, shared/marks, shared/idempotency and shared/generation (one document: nothing) declare (their Collection),
  # held equal by firestore_test.go: the field by which Firestore deletes a document, the fields without an index (large ones, and
  # those that grow with time, where an index is a hot spot), and the composite indexes.
  firestore_collections = {
    seriatim-requests = {
      ttl       = "expire_at"
      unindexed = ["fingerprint", "fence", "attempts", "reason", "detail", "target", "submitted", "started", "response", "payload_header", "payload_body"]
      indexes   = [["lane", "ticket"], ["lane", "status", "ticket"], ["lane", "status", "finished DESCENDING"]]
    }
    # What outlives Redis of a lane, and the paused targets: both functions read it, and change it; only the TTL deletes.
    seriatim-lanes = {
      ttl       = "expire_at"
      unindexed = ["purged", "parked", "horizon", "targets"]
      indexes   = []
    }
    # For Go targets that use idempotency.Guard with Firestore: neither function does. Such a target also deletes, at the executor too.
    seriatim-idempotency = {
      ttl       = "expire_at"
      unindexed = ["owner", "fingerprint", "state", "life_ms", "result"]
      indexes   = []
    }
  }
}

# The id of a database has 4 characters at least, a prefix may have three.
resource "google_firestore_database" "this" {
  name                              = "${var.name}-records"
  location_id                       = coalesce(var.firestore_location, var.region)
  type                              = "FIRESTORE_NATIVE"
  point_in_time_recovery_enablement = "POINT_IN_TIME_RECOVERY_DISABLED"
  delete_protection_state           = var.protect ? "DELETE_PROTECTION_ENABLED" : "DELETE_PROTECTION_DISABLED"
  deletion_policy                   = local.deletion_policy

  depends_on = [google_project_service.this["firestore"]]
}

resource "google_firestore_field" "ttl" {
  for_each = local.firestore_collections

  database   = google_firestore_database.this.name
  collection = each.key
  field      = each.value.ttl

  ttl_config {}
  index_config {} # none
}

resource "google_firestore_field" "unindexed" {
  for_each = merge([for name, c in local.firestore_collections : { for field in c.unindexed : "${name}/${field}" => { collection = name, field = field } }]...)

  database   = google_firestore_database.this.name
  collection = each.value.collection
  field      = each.value.field

  index_config {} # none
}

resource "google_firestore_index" "this" {
  for_each = merge([for name, c in local.firestore_collections : { for fields in c.indexes : "${name}/${join(",", fields)}" => { collection = name, fields = fields } }]...)

  database    = google_firestore_database.this.name
  collection  = each.value.collection
  query_scope = "COLLECTION"

  dynamic "fields" {
    for_each = each.value.fields

    content {
      field_path = split(" ", fields.value)[0]
      order      = try(split(" ", fields.value)[1], "ASCENDING")
    }
  }
}

# roles/datastore.user may list all of the database, its indexes and statistics, and delete. Which call needs what:
# https://cloud.google.com/firestore/docs/security/iam
resource "google_project_iam_custom_role" "ingest_records" {
  role_id     = "${local.role_prefix}_ingest_records"
  title       = "${var.name}: write records and marks, read and list them, delete what is run again"
  permissions = ["datastore.entities.create", "datastore.entities.delete", "datastore.entities.get", "datastore.entities.list", "datastore.entities.update"]
}

resource "google_project_iam_custom_role" "executor_records" {
  role_id     = "${local.role_prefix}_executor_records"
  title       = "${var.name}: write records and marks and read them"
  permissions = ["datastore.entities.create", "datastore.entities.get", "datastore.entities.update"]
}

resource "google_project_iam_member" "uses_records" {
  for_each = {
    ingest   = { member = google_service_account.ingest.member, role = google_project_iam_custom_role.ingest_records.id }
    executor = { member = google_service_account.executor.member, role = google_project_iam_custom_role.executor_records.id }
  }

  project = var.project_id
  role    = each.value.role
  member  = each.value.member

  condition {
    title      = "this database only"
    expression = "resource.name == \"${google_firestore_database.this.id}\""
  }
}
