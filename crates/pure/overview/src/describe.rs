//! The schema as OpenAPI.

use crate::Overview;
use utoipa::OpenApi as _;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(title = "guestright", description = "What a household sees of its home"),
    components(schemas(Overview))
)]
struct Schemas;

/// All types of this crate as schemas of OpenAPI 3.1, without a path: whoever serves them adds those.
pub fn openapi() -> utoipa::openapi::OpenApi {
    Schemas::openapi()
}
