import Passwords
import _Primitives

/// The inputs about passwords from people, other systems and operators: an accepted value has a single spelling, or
/// equals the bytes.
enum PasswordFuzzing {
    /// Checks that the canonical spelling of a password is its own spelling.
    static func password(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self), let password = try? Password(typed: text) else {
            return true
        }
        let spelling = password.withBytes { String(decoding: $0, as: UTF8.self) }
        return (try? Password(typed: spelling)) == password
    }

    /// Checks that a parsed hash costs no more than the limits, and is stored unchanged.
    static func hash(_ bytes: [UInt8]) -> Bool {
        let limits = PasswordLimits()
        guard let text = String(validating: bytes, as: UTF8.self), let hash = try? PasswordHash(parsing: text) else {
            return true
        }
        guard hash.text.hasSameBytes(as: text) else { return false }
        switch hash.scheme {
        case .argon2id(let cost), .argon2i(let cost):
            return cost.memoryKiB <= limits.storedMemoryKiB && cost.memoryKiB * cost.passes <= limits.storedWorkKiB
                && (1...limits.storedLanes).contains(cost.lanes) && cost.memoryKiB >= 8 * cost.lanes
        case .bcrypt(let cost): return cost <= limits.storedBcryptCost && text.utf8.count == 60
        case .pbkdf2(_, let iterations): return (1...limits.storedPBKDF2Iterations).contains(iterations)
        case .scrypt(let cost):
            return (128 << cost.costBits) * cost.blockSize <= limits.storedMemoryKiB * 1024
                && (1...limits.storedLanes).contains(cost.parallelism)
        case .sha512Crypt(let rounds): return (1000...limits.storedSHA512CryptRounds).contains(rounds)
        }
    }

    /// Checks that a damaged list is detected, or searched without harm.
    static func list(_ bytes: [UInt8]) -> Bool {
        guard let list = try? BreachedPasswordList(bytes: bytes), let password = try? Password(typed: "password") else {
            return true
        }
        guard let isIn = try? list.contains(password) else { return true }
        return !isIn || list.count > 0
    }

    /// Checks that the list of a text can be read, is complete, and has no more entries than the text has lines.
    static func listText(_ bytes: [UInt8]) -> Bool {
        guard let made = try? BreachedPasswordListBuilder.list(of: bytes) else { return true }
        guard let list = try? BreachedPasswordList(bytes: made), (try? list.verify()) != nil else { return false }
        return list.count <= bytes.split(separator: UInt8(ascii: "\n")).count
    }

    /// Checks that a typed recovery code is read as it is shown.
    static func recoveryCode(_ bytes: [UInt8]) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self), let code = RecoveryCode(typed: text) else {
            return true
        }
        return RecoveryCode(typed: code.shownOnce) == code
    }

    /// Checks that a typed time-based code is the right code, with any spaces in it, or is refused.
    static func timeBasedCode(_ bytes: [UInt8]) -> Bool {
        let moment = Timestamp(seconds: 59)
        guard let text = String(validating: bytes, as: UTF8.self),
            let totp = TOTP(secret: Array("12345678901234567890".utf8), algorithm: .sha1, digits: 8, periodSeconds: 30),
            totp.acceptedStep(of: text, at: moment, after: nil) != nil
        else { return true }
        let digits = text.utf8.filter { $0 != UInt8(ascii: " ") }
        return [29, 59, 89].contains { totp.code(at: Timestamp(seconds: $0)).map { Array($0.utf8) } == digits }
    }
}
