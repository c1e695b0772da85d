use crate::adapter::{AckGranularity, Adapter};
use guestright_congestion::{Controller, SettingsError};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Makes a controller for each connection, and one more for each path that a connection moves to.
///
/// ```
/// use guestright_congestion::{Reno, RenoSettings};
/// use guestright_quinn_control::Factory;
/// use std::sync::Arc;
///
/// let factory = Factory::new(|segment| Reno::new(RenoSettings::modern(segment)))?;
/// let mut transport = quinn_proto::TransportConfig::default();
/// transport.congestion_controller_factory(Arc::new(factory));
/// # Ok::<(), guestright_congestion::SettingsError>(())
/// ```
#[derive(Clone, Copy)]
pub struct Factory<F> {
    make: F,
    granularity: AckGranularity,
}

impl<F, C> Factory<F>
where
    F: Fn(u32) -> Result<C, SettingsError> + Send + Sync + 'static,
    C: Controller + Clone + Send + Sync + 'static,
{
    /// Of `make`, which gets the size of a segment in bytes.
    ///
    /// # Errors
    ///
    /// What `make` says of a segment of 1200 bytes. It must not depend on the size whether its settings can be: a connection
    /// cannot report it.
    pub fn new(make: F) -> Result<Self, SettingsError> {
        make(1_200)?;
        Ok(Self { make, granularity: AckGranularity::Frames })
    }

    /// The same, its controllers hearing of acknowledgements in this granularity.
    #[must_use]
    pub fn granularity(self, granularity: AckGranularity) -> Self {
        Self { granularity, ..self }
    }
}

impl<F, C> quinn_proto::congestion::ControllerFactory for Factory<F>
where
    F: Fn(u32) -> Result<C, SettingsError> + Send + Sync + 'static,
    C: Controller + Clone + Send + Sync + 'static,
{
    fn build(
        self: Arc<Self>,
        now: Instant,
        current_mtu: u16,
    ) -> Box<dyn quinn_proto::congestion::Controller> {
        let controller = (self.make)(current_mtu.into())
            .expect("settings that can be for a segment of 1200 bytes can be for any MTU of QUIC");
        Box::new(Adapter::new(controller, self.granularity, now, current_mtu))
    }
}

impl<F> fmt::Debug for Factory<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Factory").finish_non_exhaustive()
    }
}
