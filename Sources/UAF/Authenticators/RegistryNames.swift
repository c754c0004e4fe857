import _Primitives

/// The names that later versions of metadata use in place of the registry's numbers (§16).
enum RegistryNames {
    static let signatureAlgorithms: [ExactText: UInt16] = [
        "secp256r1_ecdsa_sha256_raw": 1, "secp256r1_ecdsa_sha256_der": 2, "rsassa_pss_sha256_raw": 3,
        "rsassa_pss_sha256_der": 4, "secp256k1_ecdsa_sha256_raw": 5, "secp256k1_ecdsa_sha256_der": 6, "sm2_sm3_raw": 7,
        "rsa_emsa_pkcs1_sha256_raw": 8, "rsa_emsa_pkcs1_sha256_der": 9,
    ]

    static let publicKeyFormats: [ExactText: UInt16] = [
        "ecc_x962_raw": 0x100, "ecc_x962_der": 0x101, "rsa_2048_raw": 0x102, "rsa_2048_der": 0x103, "cose": 0x104,
    ]

    static let attestationTypes: [ExactText: UInt16] = [
        "basic_full": 0x3E07, "basic_surrogate": 0x3E08, "ecdaa": 0x3E09, "attca": 0x3E0A, "none": 0x3E0B,
        "anonca": 0x3E0C,
    ]

    static let userVerifications: [ExactText: UInt32] = [
        "presence_internal": 0x001, "fingerprint_internal": 0x002, "passcode_internal": 0x004,
        "voiceprint_internal": 0x008, "faceprint_internal": 0x010, "location_internal": 0x020,
        "eyeprint_internal": 0x040, "pattern_internal": 0x080, "handprint_internal": 0x100, "none": 0x200,
        "all": 0x400, "passcode_external": 0x800, "pattern_external": 0x1000,
    ]

    static let keyProtections: [ExactText: UInt16] = [
        "software": 0x01, "hardware": 0x02, "tee": 0x04, "secure_element": 0x08, "remote_handle": 0x10,
    ]

    static let matcherProtections: [ExactText: UInt16] = ["software": 0x01, "tee": 0x02, "on_chip": 0x04]

    static let attachmentHints: [ExactText: UInt32] = [
        "internal": 0x001, "external": 0x002, "wired": 0x004, "wireless": 0x008, "nfc": 0x010, "bluetooth": 0x020,
        "network": 0x040, "ready": 0x080, "wifi_direct": 0x100,
    ]

    static let transactionConfirmationDisplays: [ExactText: UInt16] = [
        "any": 0x01, "privileged_software": 0x02, "tee": 0x04, "hardware": 0x08, "remote": 0x10,
    ]
}

extension MemberReader {
    /// Returns a number, or the union of several names of the member. An empty list gives no flag.
    func registryFlags<Value: FixedWidthInteger>(_ name: String, _ names: [ExactText: Value]) throws(UAFError) -> Value
    {
        switch self.object[name] {
        case .array(let values): try self.registryValues(values, name, names).reduce(0, |)
        default: try self.requiredInteger(name)
        }
    }

    /// Returns the numbers of an array of numbers or names. The array is not empty.
    func registryValues<Value: FixedWidthInteger>(_ name: String, _ names: [ExactText: Value]) throws(UAFError)
        -> [Value]
    {
        guard let values = try self.values(name) else { throw UAFError(.missingMember, "\(self.place).\(name)") }
        return try self.registryValues(values, name, names)
    }

    /// Returns the number of a member, or the single number or name in the list of later versions. The list's name has
    /// an additional s.
    func registryValue<Value: FixedWidthInteger>(_ name: String, _ names: [ExactText: Value]) throws(UAFError) -> Value
    {
        if let value = self.object[name] { return try self.registryValue(value, name, names) }
        let values = try self.registryValues("\(name)s", names)
        guard values.count == 1 else { throw UAFError(.invalidValue, "\(self.place).\(name)s: one is supported") }
        return values[0]
    }

    private func registryValues<Value: FixedWidthInteger>(_ values: [JSON], _ name: String, _ names: [ExactText: Value])
        throws(UAFError) -> [Value]
    {
        var numbers: [Value] = []
        for value in values { numbers.append(try self.registryValue(value, name, names)) }
        return numbers
    }

    private func registryValue<Value: FixedWidthInteger>(_ value: JSON, _ name: String, _ names: [ExactText: Value])
        throws(UAFError) -> Value
    {
        switch value {
        case .string(let text):
            guard let number = names[ExactText(text)] else { throw UAFError(.invalidValue, "\(self.place).\(name)") }
            return number
        case .integer(let number):
            guard let number = Value(exactly: number) else { throw UAFError(.wrongType, "\(self.place).\(name)") }
            return number
        default: throw UAFError(.wrongType, "\(self.place).\(name)")
        }
    }
}
