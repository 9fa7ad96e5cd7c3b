//! A store of results in a bucket of S3 or Google Cloud Storage. The environment has the credentials.

use std::fmt;

use capsize_sorted::CollectSorted;
use object_store::aws::AmazonS3Builder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt};
use tokio::runtime::{Builder, Runtime};
use tokio_rustls::rustls::crypto::ring;

use crate::exit::{CommandError, environment_error, input_error};

/// The objects of a bucket whose names begin with a prefix.
pub(in crate::chaos) struct Objects {
    place: String,
    bucket: Box<dyn ObjectStore>,
    prefix: String,
    runtime: Runtime,
}

impl Objects {
    /// The objects at `place`, which is `s3://BUCKET/PREFIX` or `gs://BUCKET/PREFIX`.
    ///
    /// # Errors
    /// When the address or the environment is wrong. The bucket is not asked yet.
    pub(super) fn open(place: &str) -> Result<Self, CommandError> {
        let wrong = |why: &dyn fmt::Display| input_error!("{place}: {why}");
        // It is only refused where one is installed already.
        let _ = ring::default_provider().install_default();
        let (scheme, rest) = place.split_once("://").unwrap_or_default();
        let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let bucket: Box<dyn ObjectStore> = if name.is_empty() {
            return Err(wrong(&"there is no name of a bucket"));
        } else if scheme == "s3" {
            let builder = AmazonS3Builder::from_env().with_bucket_name(name);
            Box::new(builder.build().map_err(|error| wrong(&error))?)
        } else {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(name);
            Box::new(builder.build().map_err(|error| wrong(&error))?)
        };
        Path::parse(prefix).map_err(|error| wrong(&error))?;
        Self::of(place, bucket, prefix)
    }

    fn of(place: &str, bucket: Box<dyn ObjectStore>, prefix: &str) -> Result<Self, CommandError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| environment_error!("cannot start: {error}"))?;
        Ok(Self { place: place.to_owned(), bucket, prefix: prefix.to_owned(), runtime })
    }

    fn path(&self, name: &str) -> Result<Path, Error> {
        Ok(Path::parse(format!("{}/{name}", self.prefix.trim_end_matches('/')))?)
    }

    /// The names of the objects in `folder`.
    pub(super) fn list(&self, folder: &str) -> Result<Vec<String>, Error> {
        let path = self.path(folder)?;
        let listed = self.runtime.block_on(self.bucket.list_with_delimiter(Some(&path)))?;
        let names = listed.objects.iter().filter_map(|object| object.location.filename());
        Ok(names.map(str::to_owned).collect_sorted())
    }

    /// The contents of an object.
    pub(super) fn get(&self, name: &str) -> Result<Vec<u8>, Error> {
        let path = self.path(name)?;
        let read = async { self.bucket.get(&path).await?.bytes().await };
        Ok(self.runtime.block_on(read)?.to_vec())
    }

    /// Writes an object, in the place of any that is there. Buckets do that as a whole.
    pub(super) fn put(&self, name: &str, contents: &[u8]) -> Result<(), Error> {
        let path = self.path(name)?;
        self.runtime.block_on(self.bucket.put(&path, contents.to_vec().into()))?;
        Ok(())
    }
}

impl fmt::Display for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    #[test]
    fn a_bucket_lists_its_objects_by_folder_and_replaces_them() {
        for prefix in ["", "runs/one", "runs/two/"] {
            let objects = Objects::of("s3://bucket", Box::new(InMemory::new()), prefix).unwrap();
            assert_eq!(objects.list("results").unwrap(), [""; 0]);
            for (name, contents) in [("0..4.jsonl", "1"), ("4..8.jsonl", "2"), ("0..4.jsonl", "3")] {
                objects.put(&format!("results/{name}"), contents.as_bytes()).unwrap();
            }
            objects.put("found/drawn/x", b"4").unwrap();
            objects.put("y", b"5").unwrap();
            assert_eq!(objects.list("").unwrap(), ["y"]);
            assert_eq!(objects.list("results").unwrap(), ["0..4.jsonl", "4..8.jsonl"]);
            assert_eq!(objects.list("found/").unwrap(), [""; 0]);
            assert_eq!(objects.list("found/drawn/").unwrap(), ["x"]);
            assert_eq!(objects.get("results/0..4.jsonl").unwrap(), b"3");
            assert!(objects.get("results/8..12.jsonl").is_err());
        }
    }

    #[test]
    fn an_address_without_a_bucket_is_refused() {
        assert!(matches!(Objects::open("s3:///prefix"), Err(CommandError::Input(_))));
    }
}
