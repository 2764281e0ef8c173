//! The run-folder format: writer, reader, versions, rebuild.
