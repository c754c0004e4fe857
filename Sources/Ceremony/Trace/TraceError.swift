/// Why a run cannot be recorded or drawn. Two are equal when their codes are.
public struct TraceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, for code that has to choose.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String { case unwritable, malformedLine, unknownParticipant, unknownTrace, contradictory }
        private let base: Base
        /// The file cannot be opened for writing.
        public static let unwritable = Self(base: .unwritable)
        /// A line is not an event.
        public static let malformedLine = Self(base: .malformedLine)
        /// A label is given for a participant that does not exist.
        public static let unknownParticipant = Self(base: .unknownParticipant)
        /// No line is of a trace that is to be drawn.
        public static let unknownTrace = Self(base: .unknownTrace)
        /// By what the lines say, an event would have happened before itself.
        public static let contradictory = Self(base: .contradictory)
        public var description: String { self.base.rawValue }
    }

    /// What went wrong.
    public let code: Code
    /// For whoever ran the command.
    public let reason: String

    /// An error with that code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    public var description: String { "TraceError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }
}
