import Countersign
import CountersignTestKit
import Testing

@Suite("Decision 10: an app's catch clauses around an operation")
struct OperationErrorTests {
    /// As an app writes it: what no clause takes is thrown on.
    private static func confirm(_ operation: OutOfBandAuthentication) async throws -> String {
        do {
            let result = try await operation.execute()
            if let location = result.location { return "open \(location)" }
            return "signed by \(result.account.username)"
        } catch let error as OperationError where error.fidoErrorCode == .userCanceled {
            return "given up"
        } catch let error as OperationError where error.fidoErrorCode == .userLockout {
            return "locked"
        } catch let error as OperationError where error == .fido(.noSuitableAuthenticator) {
            return "nothing fits"
        }
    }

    @Test("Each error reaches its clause, and one without a clause goes on")
    func clauses() async throws {
        let world = try await World()
        try await world.enroll()
        let server = world.server
        func ready(_ change: (inout VirtualPerson.Script) -> Void = { _ in }) async throws -> OutOfBandAuthentication {
            world.phone.person.script = VirtualPerson.Script()
            change(&world.phone.person.script)
            return world.phone.ready(try await world.operation(try await server.authentication()))
        }
        #expect(try await Self.confirm(try await ready()) == "signed by alice")
        #expect(try await Self.confirm(try await ready { $0.reactions[.authenticator] = .cancels }) == "given up")
        #expect(try await Self.confirm(try await ready { $0.kind = .fingerprint }) == "nothing fits")
        let used = try await ready()
        _ = try await Self.confirm(used)
        await #expect(throws: OperationError(.operationReused)) { _ = try await Self.confirm(used) }
    }
}
