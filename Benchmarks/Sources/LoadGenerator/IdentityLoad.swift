import Foundation
import ServerClients
import _Primitives

/// Sign-ins by personalised identities, on a separate server: a service that requires the device and the PIN, and
/// phones that were personalised before.
struct IdentityLoad {
    private let server: Server
    private let process: ServerProcess
    private let connections: Int
    private let party: RelyingParty
    private let identities: IdentityServer
    private let phones: Shared<[Int: SoftwareIdentity]>

    private static let profile: JSONObject = [
        "roles": .array([
            .object([
                "id": .string("resident"), "name": .string("Resident"), "default": .bool(true),
                "factors": .array([.array([.string("pin"), .string("device")])]),
            ])
        ])
    ]

    /// - Parameter people: The number of phones that sign in, one for each person.
    init(program: String, folder: String, connections: Int, people: Int) throws {
        self.process = try ServerProcess(program: program, folder: folder)
        try self.process.start()
        self.connections = connections
        let server = Server(self.process)
        self.server = server
        self.party = try RelyingParty(server: server)
        try server.setService(self.party.identifier, to: Self.profile)
        let identities = try IdentityServer(server)
        self.identities = identities
        let phones = Shared<[Int: SoftwareIdentity]>([:])
        // Two phones at a time: each takes 32 MiB for the server's half of its PIN, and as much here.
        let makers = 2
        try onThreads(makers) { index in
            var administration = try server.connectOperator()
            var connection = try server.connect()
            for number in stride(from: index, to: people, by: makers) {
                let identity = try SoftwareIdentity(
                    "person-\(number)", at: identities, of: server, operator: &administration, phone: &connection)
                phones.withLock { $0[number] = identity }
            }
        }
        self.phones = phones
    }

    func stop() { self.process.stop() }

    /// The median time for deriving a key from a PIN on a phone, in milliseconds, with two derivations at once.
    var derivationMilliseconds: Double {
        let times = self.phones.withLock { $0.values.map(\.derivationMilliseconds).sorted() }
        return times.isEmpty ? 0 : times[times.count / 2]
    }

    /// Returns the time for a phone to prepare the sealing of its factors, in microseconds of processor time. The
    /// preparation needs no answer of the person.
    func encapsulationMicroseconds(_ count: Int = 500) throws -> Double {
        let start = processorSeconds(of: getpid())
        for _ in 0..<count { _ = try PreparedFactors(to: self.identities) }
        return (processorSeconds(of: getpid()) - start) / Double(count) * 1e6
    }

    /// Measures complete sign-ins by device and PIN: started, prepared and finished, each step on disk. The pages'
    /// codes, and the work of phones before the person's answer, are prepared earlier.
    func signIns(_ count: Int) throws -> Measurement {
        let made = Shared<[(code: IdentityCode, factors: PreparedFactors)]>([])
        let (server, party, identities) = (self.server, self.party, self.identities)
        let (connections, phones) = (self.connections, self.phones)
        try onThreads(connections) { index in
            var browser = try server.connect()
            for _ in stride(from: index, to: count, by: connections) {
                let text = try party.identityCode(on: &browser)
                let session = (code: try identities.code(text), factors: try PreparedFactors(to: identities))
                made.withLock { $0.append(session) }
            }
        }
        let sessions = made.withLock { $0 }
        return try measured(self.process.identifier) {
            try onThreads(connections) { index in
                var connection = try server.connect()
                var own = phones.withLock { all in all.filter { $0.key % connections == index }.map(\.value) }
                guard !own.isEmpty else { throw LoadError("more connections than people") }
                for number in stride(from: index, to: sessions.count, by: connections) {
                    let turn = number / connections % own.count
                    try own[turn].signIn(sessions[number].code, by: sessions[number].factors, on: &connection)
                }
            }
            return sessions.count
        }
    }
}
