/// One rule that every store keeps, with a run that shows it.
///
/// A suite is a list of checks over one of the narrow protocols; a store's tests run each of them over a fresh store.
public struct ConformanceCheck<Subject: Sendable>: Sendable, CustomStringConvertible {
    /// The rule, as a sentence.
    public let description: String
    private let body: @Sendable (Subject) async throws -> Void

    /// A rule and its run. The run gets an empty store and throws where the rule is broken.
    public init(_ description: String, _ body: @escaping @Sendable (Subject) async throws -> Void) {
        self.description = description
        self.body = body
    }

    /// Runs the check over an empty store. Throws ``ConformanceFailure``, or what the store threw unexpectedly.
    public func run(_ store: Subject) async throws { try await self.body(store) }
}

/// A rule that a store broke.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// What was expected, and where.
    public let description: String
}

/// Throws ``ConformanceFailure`` where `condition` does not hold.
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
