import Passwords
import ServerClients
import _Primitives

/// People with a single password, on a separate server.
enum People {
    static let password = "not-a-secret-2"

    static func name(_ number: Int) -> String { "person-\(number)" }

    /// Starts a server for people with a password that was hashed at this cost.
    static func serve(
        program: String, folder: String, count: Int, hashing: Argon2Parameters, limits more: [String] = []
    ) async throws -> ServerProcess {
        let process = try ServerProcess(
            program: program, folder: folder,
            limits: ["hashingMemoryKiB=\(hashing.memoryKiB)", "hashingPasses=\(hashing.passes)"] + more)
        try process.start()
        let server = Server(process)
        var limits = PasswordLimits()
        limits.hashing = hashing
        let hash = try await HashingPool(limits: limits, random: .system).hash(Password(typed: Self.password)).text
        var connection = try server.connectOperator()
        for number in 0..<count {
            try server.addAccount(Self.name(number), passwordHash: hash, operator: &connection)
        }
        return process
    }
}
