# The Go buildpack wants the function's package at the root of the archive. So a function's upload is go.mod, go.sum, shared/ and
# the files of functions/<name>/ lifted to the root, without tests and their data. functions/functions_test.go builds the same.
locals {
  root = "${path.module}/.."
  shared_files = {
    for path in concat(["go.mod", "go.sum"], [for file in fileset("${local.root}/shared", "**") : "shared/${file}"]) :
    path => "${local.root}/${path}" if !endswith(path, "_test.go") && !strcontains(path, "/testdata/")
  }
  sources = {
    for name in ["ingest", "executor"] : name => merge(local.shared_files, {
      for path in fileset("${local.root}/functions/${name}", "**") :
      path => "${local.root}/functions/${name}/${path}" if !endswith(path, "_test.go") && !strcontains("/${path}", "/testdata/")
    })
  }

  # Of names and contents, and not of the archive, whose bytes depend on who packs it. A function is deployed anew when, and only
  # when, its object has a new name.
  source_hashes = {
    for name, files in local.sources : name => sha256(jsonencode({ for path, file in files : path => filesha256(file) }))
  }
}

data "archive_file" "source" {
  for_each = local.sources

  type             = "zip"
  output_path      = "${path.root}/.terraform/source-${each.key}-${local.source_hashes[each.key]}.zip"
  output_file_mode = "0644"

  dynamic "source" {
    for_each = each.value

    content {
      filename = source.key
      content  = file(source.value)
    }
  }
}

resource "google_storage_bucket" "source" {
  name                        = "${var.project_id}-${var.name}-source"
  location                    = var.region
  uniform_bucket_level_access = true
  public_access_prevention    = "enforced"
  force_destroy               = true # sources are in the repository

  depends_on = [google_project_service.this["storage"]]
}

resource "google_storage_bucket_object" "source" {
  for_each = data.archive_file.source

  bucket = google_storage_bucket.source.name
  name   = "${each.key}/${local.source_hashes[each.key]}.zip"
  source = each.value.output_path
}

# ---- who builds -----------------------------------------------------------------------------------------------------

resource "google_service_account" "build" {
  account_id   = "${var.name}-build"
  display_name = "Builds the functions of ${var.name}"
}

resource "google_storage_bucket_iam_member" "build_reads_sources" {
  bucket = google_storage_bucket.source.name
  role   = "roles/storage.objectViewer"
  member = google_service_account.build.member
}

resource "google_project_iam_member" "build_logs" {
  project = var.project_id
  role    = "roles/logging.logWriter"
  member  = google_service_account.build.member
}

resource "google_artifact_registry_repository" "functions" {
  repository_id = var.name
  location      = var.region
  format        = "DOCKER"

  cleanup_policies {
    id     = "keep-the-last-ten"
    action = "KEEP"
    most_recent_versions {
      keep_count = 10
    }
  }

  cleanup_policies {
    id     = "delete-after-thirty-days"
    action = "DELETE"
    condition {
      older_than = "2592000s"
    }
  }

  depends_on = [google_project_service.this["artifactregistry"]]
}

resource "google_artifact_registry_repository_iam_member" "build_writes_images" {
  repository = google_artifact_registry_repository.functions.name
  location   = var.region
  role       = "roles/artifactregistry.writer"
  member     = google_service_account.build.member
}
