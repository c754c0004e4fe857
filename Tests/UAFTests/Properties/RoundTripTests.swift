import Testing
import UAF
import _Primitives

@Suite("uaf-sections §2, §3 and §6: what is written is what is read, whatever it holds")
struct RoundTripTests {
    /// Each seed makes this many values, so that a failing one can be found by its seed.
    private static let values = 10

    @Test("Registration requests", arguments: 0..<20)
    func registrationRequests(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let message = try messages.registrationRequest()
            let bytes = message.serialized
            #expect(try RegistrationRequest(parsing: bytes) == message)
            #expect(try RegistrationRequest(parsing: bytes).serialized == bytes)
            #expect(try UAFRequest(parsing: bytes) == .registration(message))
        }
    }

    @Test("Authentication requests", arguments: 0..<20)
    func authenticationRequests(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let message = try messages.authenticationRequest()
            let bytes = message.serialized
            #expect(try AuthenticationRequest(parsing: bytes) == message)
            #expect(try AuthenticationRequest(parsing: bytes).serialized == bytes)
            #expect(try UAFRequest(parsing: bytes) == .authentication(message))
        }
    }

    @Test("Deregistration requests", arguments: 0..<20)
    func deregistrationRequests(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let message = try messages.deregistrationRequest()
            let bytes = message.serialized
            #expect(try DeregistrationRequest(parsing: bytes) == message)
            #expect(try UAFRequest(parsing: bytes) == .deregistration(message))
        }
    }

    @Test("Registration responses, their parameters letter by letter", arguments: 0..<20)
    func registrationResponses(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let message = messages.registrationResponse()
            let read = try RegistrationResponse(parsing: message.serialized)
            #expect(read == message)
            #expect(Array(read.fcParams.utf8) == Array(message.fcParams.utf8))
        }
    }

    @Test("Authentication responses, their parameters letter by letter", arguments: 0..<20)
    func authenticationResponses(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let message = messages.authenticationResponse()
            let read = try AuthenticationResponse(parsing: message.serialized)
            #expect(read == message)
            #expect(Array(read.fcParams.utf8) == Array(message.fcParams.utf8))
        }
    }

    @Test("Final challenge parameters", arguments: 0..<20)
    func finalChallengeParams(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let params = try messages.finalChallengeParams()
            #expect(try FinalChallengeParams(encoded: params.encoded) == params)
        }
    }

    @Test("Bodies of the transport", arguments: 0..<20)
    func transport(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let server = messages.serverResponse()
            #expect(try ServerResponse(parsing: server.serialized) == server)
            let request = messages.returnRequest()
            #expect(try ReturnUAFRequest(parsing: request.serialized) == request)
            let response = messages.sendResponse()
            #expect(try SendUAFResponse(parsing: response.serialized) == response)
        }
    }

    @Test("Policies that stand alone", arguments: 0..<20)
    func policies(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let policy = try messages.policy()
            #expect(try Policy(json: policy.json) == policy)
        }
    }

    @Test("Registration assertions", arguments: 0..<20)
    func registrationAssertions(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let assertion = RegistrationAssertion(
                keyRegistrationData: try messages.keyRegistrationData(), attestation: messages.attestation(),
                extensions: messages.assertionExtensions())
            let bytes = try assertion.serialized()
            let read = try RegistrationAssertion(parsing: bytes)
            #expect(read == assertion)
            #expect(try read.serialized() == bytes)
            #expect(bytes[4...].starts(with: read.keyRegistrationData.signedBytes))
        }
    }

    @Test("Authentication assertions", arguments: 0..<20)
    func authenticationAssertions(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        for _ in 0..<Self.values {
            let assertion = AuthenticationAssertion(
                signedData: try messages.signedData(), signature: bytes(64),
                extensions: messages.assertionExtensions())
            let bytes = try assertion.serialized()
            let read = try AuthenticationAssertion(parsing: bytes)
            #expect(read == assertion)
            #expect(try read.serialized() == bytes)
            #expect(bytes[4...].starts(with: read.signedData.signedBytes))
        }
    }

    @Test("A message that is cut anywhere is refused", arguments: 0..<5)
    func cutMessages(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        let request = try messages.authenticationRequest().serialized
        let response = messages.authenticationResponse().serialized
        for count in stride(from: 0, to: request.count, by: 7) {
            #expect(throws: UAFError.self) { try AuthenticationRequest(parsing: request.prefix(count)) }
        }
        for count in stride(from: 0, to: response.count, by: 7) {
            #expect(throws: UAFError.self) { try AuthenticationResponse(parsing: response.prefix(count)) }
        }
    }

    @Test("A message damaged in one byte is refused or is another message, never a crash", arguments: 0..<20)
    func damagedMessages(seed: Int) throws {
        var messages = RandomMessages(seed: seed)
        var random = SeededGenerator(seed: UInt64(seed))
        let message = try messages.registrationRequest()
        let original = message.serialized
        for _ in 0..<100 {
            var damaged = original
            let index = Int.random(in: 0..<damaged.count, using: &random)
            damaged[index] ^= UInt8.random(in: 1...255, using: &random)
            guard let read = try? RegistrationRequest(parsing: damaged) else { continue }
            // What is read from other bytes is written as other bytes, unless white space or an escape was touched.
            #expect(try RegistrationRequest(parsing: read.serialized) == read)
        }
    }
}
