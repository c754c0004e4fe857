import Ceremony

/// The receipt of an activation for its phone. The store's record of an activation has the same name.
typealias ActivationReceipt = Ceremony.ActivationRecord
