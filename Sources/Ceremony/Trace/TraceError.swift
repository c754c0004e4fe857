public import _Primitives

/// The reason why a run cannot be recorded or drawn. Two errors are equal if their codes are equal.
public struct TraceError: CodedError {
    /// The kind of error, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unwritable, malformedLine, unknownParticipant, unknownTrace, contradictory }
        private let base: Base
        /// The file cannot be opened for writing, or the mode of the file cannot be set to 0600.
        public static let unwritable = Self(base: .unwritable)
        /// A line is not an event.
        public static let malformedLine = Self(base: .malformedLine)
        /// A label is given for a participant that does not exist.
        public static let unknownParticipant = Self(base: .unknownParticipant)
        /// No line belongs to a requested trace.
        public static let unknownTrace = Self(base: .unknownTrace)
        /// According to the lines, an event would have happened before itself, or an event appears twice.
        public static let contradictory = Self(base: .contradictory)
        public var description: String { self.base.rawValue }
    }

    /// The kind of error.
    public let code: Code
    /// An explanation for the person who ran the command.
    public let reason: String

    /// Creates an error with the code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }
}
