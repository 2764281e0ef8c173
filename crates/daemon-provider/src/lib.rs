//! The provider seam, run events, and the builtin and scripted providers.
