import CArgon2
import CCrypt
import Crypto
import CryptoExtras
import Foundation
import _Primitives

/// Argon2 by its reference implementation (libargon2).
///
/// The calling thread fills all lanes. The library would start a thread for each lane, past the pool's bound.
enum Argon2 {
    static func tag(
        of password: Password, salt: [UInt8], parameters: Argon2Parameters, type: Argon2_type, version: UInt32,
        bytes: Int
    ) throws -> [UInt8] {
        guard parameters.arePossible else { throw HashingError(.failed, "parameters that Argon2 does not have") }
        // The library takes mutable pointers, but writes to none of them.
        var (salt, tag) = (salt, [UInt8](repeating: 0, count: bytes))
        let status = password.withBytes { password in
            salt.withUnsafeMutableBufferPointer { salt in
                tag.withUnsafeMutableBufferPointer { tag in
                    var context = Argon2_Context()
                    context.out = tag.baseAddress
                    context.outlen = UInt32(tag.count)
                    context.pwd = UnsafeMutablePointer(
                        mutating: password.assumingMemoryBound(to: UInt8.self).baseAddress)
                    context.pwdlen = UInt32(password.count)
                    context.salt = salt.baseAddress
                    context.saltlen = UInt32(salt.count)
                    context.t_cost = UInt32(parameters.passes)
                    context.m_cost = UInt32(parameters.memoryKiB)
                    context.lanes = UInt32(parameters.lanes)
                    context.threads = 1
                    context.version = version
                    context.allocate_cbk = { Argon2.allocate($0, $1) }
                    context.free_cbk = { if let memory = $0 { munmap(memory, $1) } }
                    return argon2_ctx(&context, type)
                }
            }
        }
        guard status == ARGON2_OK.rawValue else { throw HashingError(.failed, "libargon2: \(status)") }
        return tag
    }

    // Maps memory straight from the system, and returns the memory straight to the system. The allocator would keep a
    // hash's memory for each of its arenas, and the pool's bound would not hold. Large pages, if the system has them on
    // request, avoid a page fault for each four KiB of a hash.
    private static func allocate(_ memory: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?, _ count: Int) -> Int32 {
        let area = mmap(nil, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let area, area != MAP_FAILED else {
            memory?.pointee = nil
            return -1
        }
        madvise(area, count, MADV_HUGEPAGE)
        memory?.pointee = area.assumingMemoryBound(to: UInt8.self)
        return 0
    }
}

/// bcrypt and sha512-crypt by the system's libcrypt.
enum SystemCrypt {
    /// Returns the whole text for the first `most` bytes of a password, with the cost and the salt of `setting`.
    static func text(of password: Password, most: Int, setting: String) throws -> [UInt8] {
        // No password has a zero byte. A zero byte would end the phrase.
        let phrase = password.withBytes { SecretBytes(Array($0.prefix(most)) + [0]) }
        var output = [CChar](repeating: 0, count: 128)
        let status = phrase.withBytes {
            countersign_crypt($0.assumingMemoryBound(to: CChar.self).baseAddress, setting, &output, output.count)
        }
        guard status == 0 else { throw HashingError(.failed, "libcrypt does not hash by \(setting.prefix(3))") }
        return output.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    }
}

/// PBKDF2 and scrypt by swift-crypto.
enum DerivedKey {
    static func pbkdf2(
        of password: Password, salt: [UInt8], _ digest: PBKDF2Digest, iterations: Int, bytes: Int
    ) throws -> [UInt8] {
        let function: KDF.Insecure.PBKDF2.HashFunction =
            switch digest {
            case .sha1: .insecureSHA1
            case .sha256: .sha256
            case .sha512: .sha512
            }
        // Few iterations are no fault here: the hash comes from another system, and is replaced at the first sign-in.
        return try password.withBytes {
            try KDF.Insecure.PBKDF2.deriveKey(
                from: $0, salt: salt, using: function, outputByteCount: bytes, unsafeUncheckedRounds: iterations
            ).withUnsafeBytes { Array($0) }
        }
    }

    static func scrypt(of password: Password, salt: [UInt8], _ parameters: ScryptParameters, bytes: Int) throws
        -> [UInt8]
    {
        try password.withBytes {
            try KDF.Scrypt.deriveKey(
                from: $0, salt: salt, outputByteCount: bytes, rounds: 1 << parameters.costBits,
                blockSize: parameters.blockSize, parallelism: parameters.parallelism
            ).withUnsafeBytes { Array($0) }
        }
    }
}

extension PasswordHash {
    /// The memory of a verification.
    var memoryKiB: Int {
        switch self.scheme {
        case .argon2id(let parameters), .argon2i(let parameters): parameters.memoryKiB
        case .scrypt(let parameters): parameters.memoryKiB
        case .bcrypt, .pbkdf2, .sha512Crypt: PasswordLimits.Fixed.smallMemoryKiB
        }
    }

    /// Hashes a password by the scheme, and compares in constant time. The call does the work itself, so the calling
    /// thread must be allowed to wait.
    func matches(_ password: Password) throws -> Bool {
        let tag =
            switch self.scheme {
            case .argon2id(let parameters): try self.tag(of: password, parameters, Argon2_id)
            case .argon2i(let parameters): try self.tag(of: password, parameters, Argon2_i)
            case .bcrypt:
                try SystemCrypt.text(of: password, most: PasswordLimits.Fixed.bcryptBytes, setting: self.text)
            case .sha512Crypt:
                try SystemCrypt.text(of: password, most: PasswordLimits.Fixed.sha512CryptBytes, setting: self.text)
            case .pbkdf2(let digest, let iterations):
                try DerivedKey.pbkdf2(
                    of: password, salt: self.salt, digest, iterations: iterations, bytes: self.tag.count)
            case .scrypt(let parameters):
                try DerivedKey.scrypt(of: password, salt: self.salt, parameters, bytes: self.tag.count)
            }
        return constantTimeEqual(tag, self.tag) && !self.isTooLong(password)
    }

    /// `true` if the scheme takes fewer bytes than the password has, and would judge another password. bcrypt is
    /// exempt: it judges the first 72 bytes, like the system that made the hash.
    private func isTooLong(_ password: Password) -> Bool {
        guard case .sha512Crypt = self.scheme else { return false }
        return password.withBytes { $0.count } > PasswordLimits.Fixed.sha512CryptBytes
    }

    private func tag(of password: Password, _ parameters: Argon2Parameters, _ type: Argon2_type) throws -> [UInt8] {
        try Argon2.tag(
            of: password, salt: self.salt, parameters: parameters, type: type, version: self.version,
            bytes: self.tag.count)
    }
}
