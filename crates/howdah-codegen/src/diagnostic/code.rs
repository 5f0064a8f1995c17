//! The kinds of messages, each with its name in JSON and when it is said.

use serde::Serialize;

/// At which stage of a run a code is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Reading the configuration and the SQL files, before any server is asked.
    Reading,
    /// Describing statements on a server.
    Describing,
    /// Writing code, or comparing it with the files that are there.
    Generating,
    /// A code of SQG's that keeps its name for those who compare with it; nothing here says it.
    Never,
}

/// Writes the enum and its table from one list, so that neither lacks what the other has.
macro_rules! codes {
    ($($variant:ident $name:literal $stage:ident $when:literal,)*) => {
        /// The kinds of messages. Their names in JSON are a promise.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = $when] #[serde(rename = $name)] $variant,)*
        }

        impl Code {
            /// All codes, in the order in which documents list them.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in messages and in JSON.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// What it means, for documents.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $when,)* }
            }

            /// What says it.
            #[must_use]
            pub const fn stage(self) -> Stage {
                match self { $(Self::$variant => Stage::$stage,)* }
            }
        }
    };
}

codes! {
    ConfigParseError "CONFIG_PARSE_ERROR" Reading "What should be YAML is not.",
    ConfigValidationError "CONFIG_VALIDATION_ERROR" Reading "YAML says something that has no meaning here.",
    FileNotFound "FILE_NOT_FOUND" Reading "A file cannot be read.",
    InvalidGenerator "INVALID_GENERATOR" Reading "There is no generator of that name.",
    InvalidModifier "INVALID_MODIFIER" Reading "A header's modifier is unknown, or has no meaning there.",
    SqlParseError "SQL_PARSE_ERROR" Reading "A SQL file is not made of blocks with one complete statement each.",
    DuplicateQuery "DUPLICATE_QUERY" Reading "Two blocks have one name.",
    MissingVariable "MISSING_VARIABLE" Reading "A variable is used and not set.",
    MultipleStatements "MULTIPLE_STATEMENTS" Reading "A QUERY or EXEC has more than one statement.",
    PsqlCommand "PSQL_COMMAND" Reading "A line is for psql, not for the server.",
    NotSupported "NOT_SUPPORTED" Reading "It is understood, but this version cannot do it.",
    DuplicateVariable "DUPLICATE_VARIABLE" Reading "A variable is set twice; the last value counts.",
    HeaderLikeComment "HEADER_LIKE_COMMENT" Reading "It looks like a header and is none.",
    UnusedVariable "UNUSED_VARIABLE" Reading "A variable is set and not used.",
    VariableInString "VARIABLE_IN_STRING" Reading "A variable stands in a string or quoted name, where it is text.",
    EveryRow "EVERY_ROW" Reading "Without its optional lines, an UPDATE or DELETE changes every row.",
    DatabaseError "DATABASE_ERROR" Describing "The server cannot be reached or used.",
    SqlExecutionError "SQL_EXECUTION_ERROR" Describing "The server refuses a statement.",
    UndeterminedType "UNDETERMINED_TYPE" Describing "The server cannot tell a parameter's type.",
    UnknownTable "UNKNOWN_TABLE" Describing "A TABLE names no table.",
    ContradictedOverride "CONTRADICTED_OVERRIDE" Describing "An override says what the server contradicts.",
    NullReturned "NULL_RETURNED" Describing "A column that is called not null was null when its statement ran.",
    ValidationError "VALIDATION_ERROR" Describing "A statement is not what its header says.",
    TypeMappingError "TYPE_MAPPING_ERROR" Generating "A language has no type for a type of the server's.",
    NameCollision "NAME_COLLISION" Generating "Two things would have one name in the code; one of them got another.",
    ResultConflict "RESULT_CONFLICT" Generating "Rows of different columns share a name.",
    TemplateError "TEMPLATE_ERROR" Reading "A template cannot be read or laid out.",
    CommandFailed "COMMAND_FAILED" Generating "A program of `command` failed, or its answer cannot be used.",
    ForeignFile "FOREIGN_FILE" Generating "A file that was not generated is where code is to go.",
    StaleOutput "STALE_OUTPUT" Generating "A file is not what would be generated now.",
    MigrationDrift "MIGRATION_DRIFT" Describing "A database's migrations are not those of the files.",
    DatabaseNotInitialized "DATABASE_NOT_INITIALIZED" Never "The database was asked before it was there.",
    UnknownError "UNKNOWN_ERROR" Never "Something else.",
}
