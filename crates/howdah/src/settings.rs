//! Structs of options: fields and their setters from one list, so that they cannot differ.

/// A struct of settings with a setter for each, from one list. Before a setting's type stands what the field holds and the
/// setter takes, see `stored` and `given`; its doc comment stands at both.
macro_rules! settings {
    (
        $(#[$about:meta])*
        $options:ident {
            $($(#[$doc:meta])* $setting:ident: $kind:ident $type:ty,)*
        }
    ) => {
        $(#[$about])*
        #[non_exhaustive]
        pub struct $options {
            $($(#[$doc])* pub $setting: stored!($kind $type),)*
        }

        impl $options {
            $(
                $(#[$doc])*
                #[must_use]
                pub fn $setting(mut self, $setting: given!($kind $type)) -> Self {
                    self.$setting = taken!($kind $setting);
                    self
                }
            )*
        }
    };
}

/// The same for a struct of groups of settings: each setting has its setter on the outer struct.
macro_rules! groups {
    (
        $(#[$about:meta])*
        $options:ident {
            $(
                $(#[$of_group:meta])*
                $group:ident: $struct:ident {
                    $($(#[$doc:meta])* $setting:ident: $kind:ident $type:ty,)*
                },
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Default)]
        #[non_exhaustive]
        pub struct $options {
            $($(#[$of_group])* pub $group: $struct,)*
        }

        $(
            $(#[$of_group])*
            #[derive(Debug, Clone, Default)]
            #[non_exhaustive]
            pub struct $struct {
                $($(#[$doc])* pub $setting: stored!($kind $type),)*
            }
        )*

        impl $options {
            $($(
                $(#[$doc])*
                #[must_use]
                pub fn $setting(mut self, $setting: given!($kind $type)) -> Self {
                    self.$group.$setting = taken!($kind $setting);
                    self
                }
            )*)*
        }
    };
}

/// What a field holds.
macro_rules! stored {
    (one $type:ty) => { $type };
    (maybe $type:ty) => { Option<$type> };
    (maybe_into $type:ty) => { Option<$type> };
    (maybe_many $type:ty) => { Option<Vec<$type>> };
    (many $type:ty) => { Vec<$type> };
    (pairs $type:ty) => { Vec<($type, $type)> };
}

/// What its setter takes.
macro_rules! given {
    (one $type:ty) => { $type };
    (maybe $type:ty) => { $type };
    (maybe_into $type:ty) => { impl Into<$type> };
    (maybe_many $type:ty) => { impl IntoIterator<Item = impl Into<$type>> };
    (many $type:ty) => { impl IntoIterator<Item = impl Into<$type>> };
    (pairs $type:ty) => { impl IntoIterator<Item = (impl Into<$type>, impl Into<$type>)> };
}

/// How one becomes the other.
macro_rules! taken {
    (one $given:ident) => { $given };
    (maybe $given:ident) => { Some($given) };
    (maybe_into $given:ident) => { Some($given.into()) };
    (maybe_many $given:ident) => { Some(taken!(many $given)) };
    (many $given:ident) => { $given.into_iter().map(Into::into).collect() };
    (pairs $given:ident) => { $given.into_iter().map(|(a, b)| (a.into(), b.into())).collect() };
}
