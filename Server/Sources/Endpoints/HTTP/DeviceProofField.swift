import HTTPTypes

/// The header field of a device's own proof.
enum DeviceProofField {
    static let text = "Device-Proof"
    static let name = HTTPField.Name(Self.text)
}
