import HTTPTypes

/// The field of what a device says for itself.
enum DeviceProofField {
    static let text = "Device-Proof"
    static let name = HTTPField.Name(Self.text)
}
