/// One rule for every store, with a run that tests the rule.
public struct ConformanceCheck<Subject: Sendable>: Sendable, CustomStringConvertible {
    /// The rule, as a sentence.
    public let description: String
    private let body: @Sendable (Subject) async throws -> Void

    /// Makes a check of a rule. The run gets an empty store, and throws if the store breaks the rule.
    public init(_ description: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Runs the check over an empty store. Throws ``ConformanceFailure``, or an unexpected error of the store.
    public func run(_ store: Subject) async throws { try await self.body(store) }
}

/// The error for a rule that a store broke.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The expectation and its place in the source.
    public let description: String
}

/// Throws ``ConformanceFailure`` if `condition` is `false`.
func expect(
    _ condition: Bool, _ expectation: String, file: StaticString = #fileID, line: UInt = #line
) throws {
    guard condition else { throw ConformanceFailure(description: "\(expectation) (\(file):\(line))") }
}

/// Throws ``ConformanceFailure`` unless `body` throws `error`.
func expectError<Failure: Error & Equatable>(
    _ error: Failure, file: StaticString = #fileID, line: UInt = #line, _ body: () async throws -> Void
) async throws {
    do {
        try await body()
    } catch let thrown as Failure where thrown == error {
        return
    } catch {
        throw ConformanceFailure(description: "threw \(error) (\(file):\(line))")
    }
    throw ConformanceFailure(description: "did not throw \(error) (\(file):\(line))")
}
